export interface NewSpecification {
  title: string;
  kind: "boolean" | "choice" | "choices" | "scale" | "text";
  /** One a line. */
  values: string;
  /** Of a scale. */
  most: number;
}

/** The object of a specification that was described, or what is missing. */
export function specificationOf({
  title,
  kind,
  values,
  most,
}: NewSpecification): { name: string; val: Record<string, unknown> } | { mistake: string } {
  const question = title.trim();
  // Names of objects: letters, digits, _, - and ., as the service takes them.
  const words = question.normalize("NFKD").toLowerCase().match(/\w+/g) ?? [];
  const name = words.join("-");
  if (question === "") return { mistake: "Without a question nobody can answer." };
  if (name === "") return { mistake: "The question needs a letter from a to z or a digit, for its name." };
  const list = [
    ...new Set(
      values
        .split("\n")
        .map((value) => value.trim())
        .filter(Boolean),
    ),
  ];
  if ((kind === "choice" || kind === "choices") && list.length < 2)
    return { mistake: "At least two values, one a line." };
  if (kind === "scale" && !(Number.isInteger(most) && most >= 2 && most <= 100))
    return { mistake: "The most is a whole number from 2 to 100." };
  const schemas = {
    boolean: { type: "boolean" },
    choice: { type: "string", enum: list },
    choices: { type: "array", items: { type: "string", enum: list } },
    scale: { type: "integer", minimum: 1, maximum: most },
    text: { type: "string" },
  };
  return { name, val: { name: question, field_schema: schemas[kind] } };
}
