import { createRequire } from "node:module";
import { noticesOf } from "@heddle/tools/notices";
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

const { resolve } = createRequire(import.meta.url);
/** They are loaded by style sheets, which are no modules of a bundle. */
const fonts = ["@fontsource-variable/ibm-plex-sans", "@fontsource/ibm-plex-mono"];

/** What the licences of the bundled libraries and fonts ask for. */
const thirdPartyNotices: Plugin = {
  name: "third-party-notices",
  generateBundle(_, bundle) {
    const chunks = Object.values(bundle).filter((file) => file.type === "chunk");
    const modules = chunks.flatMap((chunk) => Object.keys(chunk.modules)).filter((id) => !id.startsWith("\0"));
    const manifests = fonts.map((name) => resolve(`${name}/package.json`));
    this.emitFile({
      type: "asset",
      fileName: "THIRD_PARTY_NOTICES.txt",
      source: noticesOf([...modules, ...manifests]),
    });
  },
};

export default defineConfig({
  root: import.meta.dirname,
  // Addresses follow from the `base` element of the page, so that any prefix of a proxy works.
  base: "./",
  plugins: [react(), preloadFonts, thirdPartyNotices],
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
    rolldownOptions: {
      output: {
        codeSplitting: {
          // What several screens have is in one of three files: many small ones compress badly. The first page needs `base`.
          groups: [
            {
              name: "base",
              test: /console[\\/]src[\\/](?:call-parts|commands|data|project|router|session|ui)[\\/]|search(?:-params)?\.ts$|packages[\\/](?:client|exact-json)[\\/]|node_modules/,
              minShareCount: 2,
              priority: 1,
            },
            { name: "values", test: /console[\\/]src[\\/](?:diff|grid|json|call)[\\/](?!shown)/, minShareCount: 2 },
            {
              name: "screens",
              test: /console[\\/]src[\\/](?:library|queue|settings|threads|training)[\\/]/,
              minShareCount: 2,
            },
          ],
        },
      },
    },
  },
  server: { proxy: { "^/(?!console/|@|src/|node_modules/)": service } },
});
