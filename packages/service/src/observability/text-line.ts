interface Line {
  time: string;
  level: string;
  msg?: string;
  err?: { stack: string };
  [field: string]: unknown;
}

/**
 * A line of JSON as text for people: time, level unless it is `info`, message, then the other fields. Further lines of
 * a message are indented and control characters escaped, so that no message looks like another line.
 */
export function textOfLine(json: string): string {
  const { time, level, msg = "", err, ...fields } = JSON.parse(json) as Line;
  const [first = "", ...more] = (err?.stack ?? msg).split("\n");
  const pairs = Object.entries(fields).map(([name, value]) => `${name}=${textOf(value)}`);
  const head = [time, ...(level === "info" ? [] : [level]), first, ...pairs].join(" ");
  return `${[head, ...more.map((line) => `  ${line}`)].map(escapeControls).join("\n")}\n`;
}

function textOf(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return typeof value === "string" && /[\s"=]/.test(text) ? JSON.stringify(text) : text;
}

function escapeControls(text: string): string {
  // oxlint-disable-next-line no-control-regex -- terminals act on them
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, (character) => {
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
}
