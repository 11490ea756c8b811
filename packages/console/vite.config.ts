import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import type { Plugin } from "vite";

/** Where `pnpm dev` finds the service. */
const service = process.env["HEDDLE_PUBLIC_URL"] ?? "http://127.0.0.1:4680";

/** So that they are there when the first text is painted. */
const preloadFonts: Plugin = {
  name: "preload-fonts",
  transformIndexHtml: {
    order: "post",
    handler: (_, { bundle = {} }) =>
      Object.keys(bundle)
        .filter((name) => name.endsWith(".woff2"))
        .map((name) => ({
          tag: "link",
          attrs: { rel: "preload", as: "font", type: "font/woff2", crossorigin: true, href: `./${name}` },
        })),
  },
};

export default defineConfig({
  root: import.meta.dirname,
  // Addresses follow from the `base` element of the page, so that any prefix of a proxy works.
  base: "./",
  plugins: [react(), preloadFonts],
  resolve: { conditions: ["@heddle/source", "browser", "module", "import"] },
  build: {
    outDir: "dist/site",
    emptyOutDir: true,
    target: "es2023",
    // Every browser that the target names has it.
    modulePreload: { polyfill: false },
    // `data:` URLs of fonts and workers are not allowed by the policy.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: { proxy: { "^/(?!console/|@|src/|node_modules/)": service } },
});
