import { fileURLToPath } from "node:url";
import { contentSecurityPolicy, docsDirectory } from "../src/index.js";

export const repository = fileURLToPath(new URL("../../..", import.meta.url));

/** Where the site of this repository is built from and to. */
export const siteOptions = {
  spec: `${repository}spec/dist`,
  contract: `${repository}spec`,
  docs: `${repository}packages/docs`,
  output: docsDirectory,
  policy: contentSecurityPolicy,
  // Set it with the first release: the lines of the guides then name the packages.
  published: false,
};
