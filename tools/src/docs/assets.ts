import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import type { Files } from "../generated-files.js";

/** Addresses of the files that pages load, below the root of the site. Each has a name that changes with its content. */
export interface Assets {
  style: string;
  /** Runs before the page is shown. */
  theme: string;
  script: string;
  icon: string;
}

/** Bundles the scripts of the pages. Returns the text of each by its name. */
export async function bundleScripts(directory: string): Promise<{ theme: string; script: string }> {
  const { outputFiles } = await build({
    entryPoints: { theme: join(directory, "theme.ts"), page: join(directory, "page.ts") },
    outdir: directory,
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2022",
    conditions: ["@heddle/source"],
    legalComments: "none",
  });
  const textOf = (name: string) => outputFiles.find(({ path }) => path.endsWith(`/${name}.js`))?.text ?? "";
  return { theme: textOf("theme"), script: textOf("page") };
}

export interface AssetTexts {
  template: string;
  style: string;
  theme: string;
  script: string;
}

/** The files with the addresses that pages use. */
export function nameAssets({ template, style, theme, script }: AssetTexts): { assets: Assets; files: Files } {
  const files: Files = {};
  const add = (name: string, extension: string, text: string) => {
    const path = `assets/${name}.${hashOf(text)}.${extension}`;
    files[path] = text;
    return path;
  };
  const assets = {
    style: add("style", "css", style),
    theme: add("theme", "js", theme),
    script: add("page", "js", script),
    icon: add("icon", "svg", readFileSync(join(template, "icon.svg"), "utf8")),
  };
  return { assets, files };
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}
