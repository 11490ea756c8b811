import { fileURLToPath } from "node:url";

/**
 * Absolute path of the built site: static files, `index.html` at its root, every link relative, so it can be served
 * under any prefix that ends in a slash. Files of 1 KiB and more have `.br` and `.gz` next to them. What is below
 * `assets/` never changes under one name. It exists after `pnpm build` and in the published package.
 */
export const docsDirectory = fileURLToPath(new URL("../dist/site", import.meta.url));

export { contentSecurityPolicy } from "./content-security-policy.js";
