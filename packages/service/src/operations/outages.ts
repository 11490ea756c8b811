/** One line for the operator: the error of a store and its cause, which may name hosts and accounts. */
export function operatorLine({ message, cause }: Error): string {
  const shortened = (text: string): string => firstLine(text).slice(0, 500);
  return cause instanceof Error ? `${shortened(message)}: ${shortened(cause.message)}` : shortened(message);
}

/** The first line of a message; those of drivers and engines have many. */
export const firstLine = (text: string): string => text.trim().split("\n", 1)[0] ?? "";

const pauseMs = 60_000;
const remembered = 100;

/** Logs why requests get 503, each reason once a minute. The cause is only logged, never sent to clients. */
export function outageLog(log: (line: string) => void, now = () => performance.now()): (error: Error) => void {
  const logged = new Map<string, number>();
  return (error) => {
    if (error.cause === undefined) return;
    const line = operatorLine(error);
    // An engine that runs out of memory names other sizes every time.
    const reason = line.replaceAll(/\d+/g, "0");
    if (now() - (logged.get(reason) ?? -Infinity) < pauseMs) return;
    if (logged.size >= remembered) logged.clear();
    logged.set(reason, now());
    log(line);
  };
}
