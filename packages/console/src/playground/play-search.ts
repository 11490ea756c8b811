/** Columns of a playground. */
export const mostModels = 6;

export interface PlaySearch {
  /** The recorded call. */
  call?: string | undefined;
  /** Names with commas between. */
  models?: string | undefined;
}

export function readPlaySearch({ call, models }: Record<string, unknown>): PlaySearch {
  return {
    ...(typeof call === "string" && call !== "" && { call: call.slice(0, 256) }),
    ...(typeof models === "string" && models !== "" && { models: models.slice(0, 4000) }),
  };
}

export const modelsOf = ({ models = "" }: PlaySearch): string[] =>
  [...new Set(models.split(",").filter(Boolean))].slice(0, mostModels);
