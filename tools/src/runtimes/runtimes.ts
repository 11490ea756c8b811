import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(import.meta.url);

/** The path of the executable in the package of `name` for this platform. Its install script, which links it, need not run. */
function executable(name: string, file: string): string {
  const manifest = require.resolve(`${name}/package.json`);
  const { optionalDependencies } = JSON.parse(readFileSync(manifest, "utf8")) as {
    optionalDependencies: Record<string, string>;
  };
  const resolve = createRequire(manifest).resolve;
  for (const platform of Object.keys(optionalDependencies)) {
    try {
      return join(dirname(resolve(`${platform}/package.json`)), file);
    } catch {
      // The package of another platform is not installed.
    }
  }
  throw new Error(`${name} has no executable for ${process.platform} ${process.arch}`);
}

/** A program as one file, and where it has to listen. */
export interface Program {
  code: string;
  path: string;
  port: number;
  /** Of workerd: with what Workers have of Node.js. */
  nodejs?: boolean;
}

export interface Command {
  command: string;
  args: string[];
  /** Read by the process from its standard input. */
  input?: string;
  /** Further files next to the program. */
  files?: Record<string, string>;
}

/** How each runtime runs a program. Of a program for Node the frameworks are resolved from the working directory. */
export const runtimes = {
  node: ({ code }: Program): Command => ({ command: process.execPath, args: ["--input-type=module"], input: code }),
  bun: ({ path }: Program): Command => ({ command: executable("bun", "bin/bun"), args: ["run", path] }),
  deno: ({ path }: Program): Command => ({
    command: executable("deno", "deno"),
    args: ["run", "--no-remote", "--allow-net", path],
  }),
  workerd: ({ path, port, nodejs = false }: Program): Command => ({
    command: executable("workerd", "bin/workerd"),
    args: ["serve", `${path}.capnp`],
    files: { [`${path}.capnp`]: workerdConfig(path, port, nodejs) },
  }),
};

export type Runtime = keyof typeof runtimes;

function workerdConfig(path: string, port: number, nodejs: boolean): string {
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .program), (name = "network", network = (allow = ["private"]))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const program :Workerd.Worker = (
  modules = [(name = "program", esModule = embed "${path.split("/").at(-1)}")],
  compatibilityDate = "2026-01-01",
  # What Workers have once they ask for it: AsyncLocalStorage by name.
  compatibilityFlags = [${nodejs ? '"nodejs_compat"' : ""}],
  globalOutbound = "network",
);
`;
}
