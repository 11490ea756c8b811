/**
 * What a store says when it cannot serve, with the cause, where places and accounts stand: one line for the operator.
 */
export function operatorLine({ message, cause }: Error): string {
  const shown = (text: string): string => firstLine(text).slice(0, 500);
  return cause instanceof Error ? `${shown(message)}: ${shown(cause.message)}` : shown(message);
}

/** Drivers and engines explain themselves over many. */
export const firstLine = (text: string): string => text.trim().split("\n", 1)[0] ?? "";

const pauseMs = 60_000;
const remembered = 100;

/** Tells the operator why requests are answered 503, each reason once a minute: their clients are not told the cause. */
export function outageLog(log: (line: string) => void, now = () => performance.now()): (error: Error) => void {
  const told = new Map<string, number>();
  return (error) => {
    if (error.cause === undefined) return;
    const line = operatorLine(error);
    // An engine out of memory names other sizes every time.
    const reason = line.replaceAll(/\d+/g, "0");
    if (now() - (told.get(reason) ?? -Infinity) < pauseMs) return;
    if (told.size >= remembered) told.clear();
    told.set(reason, now());
    log(line);
  };
}
