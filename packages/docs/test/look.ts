// Opens every page of the built site in a headless Chromium and leaves screenshots in dist/look.
// Exits with 1 when a page requests anything from another host, or violates its own content policy.
// Needs Chromium (Debian: apt-get install chromium), so it is not part of the tests. Run: pnpm build && pnpm look
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { docsDirectory } from "../src/index.js";

const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
const pictures = join(docsDirectory, "../look");
// Without these Chromium itself sends requests that are not the page's.
const quiet = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-extensions",
  "--hide-scrollbars",
];

const server = createServer((request, response) => {
  const path = decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname);
  try {
    const type = path.endsWith(".html") ? "text/html; charset=utf-8" : "text/plain; charset=utf-8";
    response.setHeader("content-type", type).end(readFileSync(join(docsDirectory, path)));
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** Opens a page and takes a screenshot; returns the page's violations. */
async function look(page: string, width: number, dark: boolean): Promise<string[]> {
  const profile = mkdtempSync(join(tmpdir(), "heddle-look-"));
  const netLog = join(profile, "net.json");
  const name = `${page.replaceAll("/", "-").replace(".html", "")}-${width}${dark ? "-dark" : ""}.png`;
  const { stderr } = await promisify(execFile)(
    chromium,
    [
      ...quiet,
      ...(dark ? ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] : []),
      `--user-data-dir=${profile}`,
      `--log-net-log=${netLog}`,
      "--enable-logging=stderr",
      `--window-size=${width},1100`,
      "--virtual-time-budget=8000",
      `--screenshot=${join(pictures, name)}`,
      `${origin}/${page}`,
    ],
    { maxBuffer: 64 * 1024 * 1024 },
  );
  const outside = requestsOf(netLog).filter((url) => !url.startsWith(`${origin}/`));
  rmSync(profile, { recursive: true, force: true });
  const refused = stderr.split("\n").filter((line) => /CONSOLE/.test(line) && /Content Security Policy/.test(line));
  return [...new Set(outside.map((url) => `requests ${url}`)), ...refused];
}

/** The page's own requests: those that name it as their initiator. The others are the browser's. */
function requestsOf(netLog: string): string[] {
  return readFileSync(netLog, "utf8")
    .split("\n")
    .filter((line) => line.includes(`"initiator":"${origin}"`))
    .map((line) => (JSON.parse(line.replace(/,$/, "")) as { params: { url: string } }).params.url);
}

mkdirSync(pictures, { recursive: true });
const pages = readdirSync(docsDirectory, { recursive: true, encoding: "utf8" }).filter((name) =>
  name.endsWith(".html"),
);
for (const page of pages.toSorted()) {
  const violations = await look(page, 1280, false);
  console.log(`${page}: ${violations.length === 0 ? "no violations" : violations.join("\n  ")}`);
  if (violations.length > 0) process.exitCode = 1;
}
for (const [width, dark] of [
  [390, false],
  [1280, true],
] as const) {
  await look("index.html", width, dark);
  await look("guides/getting-started.html", width, dark);
}
server.close();
console.log(`screenshots in ${pictures}`);
