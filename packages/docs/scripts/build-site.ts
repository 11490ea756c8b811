import { buildDocs } from "@heddle/tools/docs";
import { siteOptions } from "./site-options.js";

await buildDocs(siteOptions);
