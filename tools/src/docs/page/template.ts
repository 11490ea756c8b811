import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Fills the `{{name}}` placeholders of a template file. Throws for a placeholder without a value and for an unused value. */
export type Template = (values: Record<string, string>) => string;

export function readTemplate(directory: string, name: string): Template {
  const text = readFileSync(join(directory, name), "utf8");
  return (values) => {
    const unused = new Set(Object.keys(values));
    const filled = text.replace(/\{\{(\w+)\}\}/g, (_, key: string) => {
      unused.delete(key);
      const value = values[key];
      if (value === undefined) throw new Error(`${name}: no value for {{${key}}}`);
      return value;
    });
    if (unused.size > 0) throw new Error(`${name}: no placeholder for ${[...unused].join(", ")}`);
    return filled;
  };
}

export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
