import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const guides = fileURLToPath(new URL("../../../docs/guides/integrations/", import.meta.url));

/** What a page of the documentation tells its readers to do. */
export interface Integration {
  /** The name of the page, and of the project that its program writes to. */
  name: string;
  language: "python" | "ts";
  /** The packages with their versions. */
  packages: string[];
  /** Commands of the shell that export the settings. */
  settings: string;
  /** Path of the program. */
  program: string;
  /** Path of what the page shows of the recording. */
  recording: string;
}

/** Reads the page of each integration. */
export function readIntegrations(): Integration[] {
  const pages = readdirSync(guides).filter((file) => file.endsWith(".md") && file !== "index.md");
  return pages.map((page) => {
    const markdown = readFileSync(join(guides, page), "utf8");
    const part = (what: string, pattern: RegExp) => {
      const [, found, further] = pattern.exec(markdown) ?? [];
      if (found === undefined) throw new Error(`${page} has no ${what}`);
      return [found, further ?? ""] as const;
    };
    const [packages] = part("install line", /^```sh\n(?:pip|npm) install (.+)\n```$/m);
    const [settings] = part("settings", /^```sh\n((?:export .+\n)+)```$/m);
    const [language, program] = part("program", /^```(python|ts) file=(\S+)$/m);
    const [recording] = part("recording", /^```output file=(\S+)$/m);
    return {
      name: basename(page, ".md"),
      language: language === "ts" ? "ts" : "python",
      packages: packages.replaceAll('"', "").split(" "),
      settings,
      program: join(guides, program),
      recording: join(guides, recording),
    };
  });
}
