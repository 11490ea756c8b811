import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Fills `{{name}}` places of a template file. A place without a value, or a value without a place, is a mistake. */
export type Template = (values: Record<string, string>) => string;

export function readTemplate(directory: string, name: string): Template {
  const text = readFileSync(join(directory, name), "utf8");
  return (values) => {
    const unused = new Set(Object.keys(values));
    const filled = text.replace(/\{\{(\w+)\}\}/g, (_, place: string) => {
      unused.delete(place);
      const value = values[place];
      if (value === undefined) throw new Error(`${name}: nothing is given for {{${place}}}`);
      return value;
    });
    if (unused.size > 0) throw new Error(`${name}: no place for ${[...unused].join(", ")}`);
    return filled;
  };
}

export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
