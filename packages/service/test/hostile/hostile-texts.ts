/** What breaks systems that paste text into SQL, shells, pages, paths, file formats or objects. */
export const hostileTexts: Readonly<Record<string, string>> = {
  "SQL that ends the string": "'; DROP TABLE calls; --",
  "SQL that ends an escaped string": "\\'; SELECT sleep(3); --",
  "a condition that is always true": "' OR '1'='1",
  "a placeholder of the engine": "{p0:String}",
  "a LIKE pattern": "%_\\%",
  "a field of a text format": "a\tb\\N\nc\\t\r\nd",
  "a template": "${7*7}{{7*7}}<%= 7*7 %>#{7*7}",
  "a page": "<script>alert(1)</script><img src=x onerror=alert(1)>",
  "a path": "../../../../etc/passwd",
  "a formula": "=HYPERLINK('http://x')",
  "a prototype": "__proto__",
  "a NUL": "a\0b",
  "control characters": "\u0001\u001b[31m\u007f\u0085",
  "a line separator": "a\u2028b\u2029c",
  "text that runs backwards": "\u202eabc\u2066",
  "a byte order mark": "\ufeffabc",
  "an emoji of four code points": "👩‍🚀 é e\u0301",
  nothing: "",
  blanks: "   ",
};

/** Has no UTF-8: where text must be stored as UTF-8 it cannot come back. */
export const loneSurrogate = "a\ud800b";

/** `value` with each of its strings in turn replaced by `text`, and where. Keys stay. */
export function* withText(
  value: unknown,
  text: string,
  path: string[] = [],
): Generator<[path: string, value: unknown]> {
  if (typeof value === "string") yield [path.join("."), text];
  else if (typeof value === "object" && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      for (const [at, changed] of withText(inner, text, [...path, key])) {
        const copy: unknown = Array.isArray(value) ? [...(value as unknown[])] : { ...value };
        (copy as Record<string, unknown>)[key] = changed;
        yield [at, copy];
      }
    }
  }
}
