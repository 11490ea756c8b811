import { buildDocs } from "@heddle/tools/docs";
import { siteOptions } from "./site-options.js";

// Tests build it elsewhere.
const [output = siteOptions.output] = process.argv.slice(2);
await buildDocs({ ...siteOptions, output });
