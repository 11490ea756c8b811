import { keyLocks } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import { adapterDigest } from "../checkpoint-directory.js";
import { errorOf, reasonOf } from "../server-response.js";
import type { ServerResponse } from "../server-response.js";
import type { Dialect } from "./dialect.js";

export interface AdapterSettings {
  /** Sends a JSON body to a path of the server. */
  post: (path: string, body: unknown) => Promise<ServerResponse>;
  /** Says at which paths the server loads and unloads adapters. */
  dialect: () => Promise<Pick<Dialect, "loadPath" | "unloadPath">>;
  /** Returns the path at which the server finds a directory of this machine, or the name by which it fetches it. */
  serverPath: (directory: string) => string | Promise<string>;
  /** Where the server fetches adapters from, if it does. */
  hub?: string | undefined;
  /** Maximum number of adapters that stay loaded without a request. */
  maxLoaded: number;
}

/** An adapter that is loaded while the lease is held. */
export interface AdapterLease {
  /** Name of the adapter on the server. */
  name: string;
  /** Identity of the weights by content. */
  digest: string;
  release(): void;
}

/** Adapters of an inference server, loaded from directories in PEFT layout. */
export interface Adapters {
  /** Loads the adapter of a checkpoint if necessary. */
  acquire(directory: string): Promise<AdapterLease>;
  /** Forgets that an adapter is loaded, because the server reports that it is not. */
  forget(directory: string): void;
  /** Unloads an adapter once no request uses it. Unknown directories are ignored. */
  unload(directory: string): Promise<void>;
}

interface LoadedAdapter {
  /** Once it is known. */
  name?: string;
  named: Promise<{ name: string; digest: string }>;
  leases: number;
  /** Called at the end of the last request, once `unload` was asked for. */
  idle?: () => void;
}

const server = "the inference server";

/**
 * Every checkpoint has a name of its own, made of the contents of its files: an adapter is never replaced under its
 * name, which would keep the server's cached prefixes of the old one, and one that is still loaded from before a restart
 * is the right one.
 */
export function vllmAdapters({ post, dialect, serverPath, hub, maxLoaded }: AdapterSettings): Adapters {
  /** By directory, least recently used first. */
  const loaded = new Map<string, LoadedAdapter>();
  /** One request per name at a time: the server may carry them out in any order. */
  const locked = keyLocks();

  function adapterOf(directory: string): LoadedAdapter {
    const known = loaded.get(directory);
    if (known) return known;
    const adapter: LoadedAdapter = {
      leases: 0,
      named: adapterDigest(directory).then(async (digest) => {
        const name = `heddle-${digest.slice(0, 32)}`;
        adapter.name = name;
        await locked(name, () => load(name, directory));
        return { name, digest };
      }),
    };
    return adapter;
  }

  async function load(name: string, directory: string): Promise<void> {
    const { loadPath } = await dialect();
    const response = await post(loadPath, { lora_name: name, lora_path: await serverPath(directory) });
    if (response.status < 300) return;
    const reason = reasonOf(response.body);
    if (response.status === 400 && /already (?:been )?loaded|load_inplace|already exists/iu.test(reason)) return;
    if (response.status === 400 && /LoRA is not enabled/u.test(reason)) {
      throw new HeddleError("unsupported", `${server} has no adapters: start it with --enable-lora (${reason})`);
    }
    if (response.status === 404 && /not found$/iu.test(reason)) {
      const message = `${server} does not load adapters at run time: start it with VLLM_ALLOW_RUNTIME_LORA_UPDATING=True and --enable-lora`;
      throw new HeddleError("unsupported", message);
    }
    if (hub !== undefined && response.status < 503 && ![401, 403, 429].includes(response.status)) {
      const message = `${server} did not load the adapter, which it has to fetch: its HF_ENDPOINT must be ${hub}, and it must reach this address (${reason})`;
      throw new HeddleError("not_found", message, { loc: ["checkpoint"] });
    }
    if (response.status === 404) {
      const message = `${server} does not find the checkpoint: its directory must be on a file system of both machines (${reason})`;
      throw new HeddleError("not_found", message, { loc: ["checkpoint"] });
    }
    throw errorOf(server, response);
  }

  async function unloadNow(directory: string, adapter: LoadedAdapter): Promise<void> {
    if (loaded.get(directory) === adapter) loaded.delete(directory);
    const named = await adapter.named.catch(() => undefined);
    if (named) await locked(named.name, () => unload(named.name));
  }

  async function unload(name: string): Promise<void> {
    // Wanted again in the meantime, or in a copy.
    if ([...loaded.values()].some((other) => other.name === name)) return;
    const { unloadPath } = await dialect();
    const response = await post(unloadPath, { lora_name: name });
    // The server was restarted, or has evicted it.
    const isGone = response.status === 404 || /does not exist/u.test(reasonOf(response.body));
    if (response.status >= 300 && !isGone) throw errorOf(server, response);
  }

  /** Unloads the least recently used adapters beyond the limit. */
  function evict(): void {
    const idle = [...loaded].filter(([, { leases }]) => leases === 0);
    for (const [directory, adapter] of idle.slice(0, Math.max(0, loaded.size - maxLoaded))) {
      void unloadNow(directory, adapter).catch(() => undefined);
    }
  }

  return {
    async acquire(directory) {
      const adapter = adapterOf(directory);
      loaded.delete(directory);
      loaded.set(directory, adapter);
      adapter.leases++;
      const release = (): void => {
        adapter.leases--;
        if (adapter.leases > 0) return;
        if (adapter.idle) adapter.idle();
        else evict();
      };
      try {
        return { ...(await adapter.named), release };
      } catch (error) {
        if (loaded.get(directory) === adapter) loaded.delete(directory);
        release();
        throw error;
      }
    },
    forget: (directory) => void loaded.delete(directory),
    async unload(directory) {
      const adapter = loaded.get(directory);
      if (!adapter) return;
      loaded.delete(directory);
      if (adapter.leases > 0) await new Promise<void>((resolve) => (adapter.idle = resolve));
      await unloadNow(directory, adapter);
    },
  };
}
