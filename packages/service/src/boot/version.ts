import { readFileSync } from "node:fs";

interface PackageJson {
  version: string;
}

/** Version of this package; package.json is one folder above both `src` and `dist`. */
export const { version } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
) as PackageJson;
