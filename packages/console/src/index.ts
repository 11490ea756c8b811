import { fileURLToPath } from "node:url";

/**
 * Absolute path of the built console: static files, `index.html` at its root. Servers send `index.html` for every path that
 * is not a file, with `baseElement` replaced by one that leads to the root. Files of 1 KiB and more have `.br` and `.gz` next
 * to them. What is below `assets/` never changes under one name. It exists after `pnpm build` and in the published package.
 */
export const consoleDirectory = fileURLToPath(new URL("../dist/site", import.meta.url));

/** Of `index.html` as it was built: every address of the console is relative to it. */
export const baseElement = '<base href="./" />';

export { contentSecurityPolicy } from "./content-security-policy.js";
