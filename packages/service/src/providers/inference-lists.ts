import { HeddleError } from "@heddle/errors";
import { fitsResponse } from "@heddle/server-stub/tracing";
import type { Schemas } from "@heddle/server-stub/tracing";
import { CachedLists } from "./cached-lists.js";
import type { CacheTimes } from "./cached-lists.js";
import { errorText, jsonObject } from "./json-response.js";
import type { ConnectedProvider, Providers } from "./providers.js";

type Model = Schemas["RouterVendorcModel"];
type Hardware = Schemas["VendorbHardwareOption"];

export interface InferenceLists {
  /** Each id once, of the first provider that has it. `remembered`: of lists that were read before, without a request. */
  models(kind: "analysis-models" | "router-models", options?: { remembered?: boolean }): Promise<Model[]>;
  /** Machines for a model; a model that no provider knows has none. */
  hardware(model: string): Promise<Hardware[]>;
}

/** Lists are small; a provider that takes longer counts as unreachable. */
const listTimeoutMs = 10_000;

const modelMembers = [
  "id",
  "hugging_face_id",
  "name",
  "created",
  "input_modalities",
  "output_modalities",
  "quantization",
  "context_length",
  "max_output_length",
  "pricing",
  "supported_sampling_parameters",
  "supported_features",
  "datacenters",
  "deprecation_date",
] as const satisfies readonly (keyof Model)[];

const hardwareMembers = ["id", "name", "type", "pricing", "specs"] as const satisfies readonly (keyof Hardware)[];

/** The lists of models and hardware, read from the providers that are configured for them and kept for a while. */
export function openInferenceLists(providers: Providers, times?: CacheTimes): InferenceLists {
  const cache = new CachedLists<unknown>(times);

  /** Of several providers, those that have no list are left out; it is an error when none has one. */
  async function all(
    listed: readonly ConnectedProvider[],
    path: string,
    read: (provider: ConnectedProvider) => Promise<unknown[]>,
    { remembered = false }: { remembered?: boolean } = {},
  ): Promise<unknown[]> {
    const keyOf = ({ name }: ConnectedProvider) => `${name} ${path}`;
    if (remembered) return listed.flatMap((provider) => cache.remembered(keyOf(provider)) ?? []);
    const results = await Promise.allSettled(
      listed.map(async (provider) => cache.get(keyOf(provider), async () => read(provider))),
    );
    const lists = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    const [failed] = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
    if (lists.length === 0 && failed !== undefined) throw failed;
    return lists.flat();
  }

  return {
    async models(kind, options) {
      const path = "/models";
      const read = async (provider: ConnectedProvider) =>
        await readItems(provider, path, {
          member: "data",
          operation: "inferenceRouterVendorcModels",
          toItem: (item) => picked({ hugging_face_id: "", ...item }, modelMembers),
        });
      const models = (await all(providers.of(kind), `${kind} ${path}`, read, options)) as Model[];
      return [...new Map(models.toReversed().map((model) => [model.id, model])).values()].toReversed();
    },

    async hardware(model) {
      const path = `/hardware?${new URLSearchParams({ model }).toString()}`;
      return (await all(providers.of("hardware"), path, async (provider) =>
        readItems(provider, path, {
          member: "hardware",
          operation: "vendorbHardware",
          toItem: (item) => picked(item, hardwareMembers),
          emptyIfMissing: true,
        }),
      )) as Hardware[];
    },
  };
}

interface ItemsOf {
  /** Where the response of the provider has the list. */
  member: string;
  /** The operation of this service whose response has the same list. */
  operation: string;
  toItem: (item: Readonly<Record<string, unknown>>) => unknown;
  /** Whether 404 means that there is none. */
  emptyIfMissing?: true;
}

/** The items of a provider's list that have the form which the spec describes, without members that it does not. */
async function readItems(
  provider: ConnectedProvider,
  path: string,
  { member, operation, toItem, emptyIfMissing }: ItemsOf,
): Promise<unknown[]> {
  try {
    if (provider.missingKey !== undefined) throw new Error(`no API key: set ${provider.missingKey}`);
    const response = await provider.send("GET", path, { timeoutMs: listTimeoutMs });
    if (response.status === 404 && emptyIfMissing === true) return [];
    if (response.status !== 200) throw new Error(errorText(response, provider));
    const list = jsonObject(response)[member];
    if (!Array.isArray(list)) throw new Error(`the response has no list "${member}"`);
    const items: unknown[] = [];
    for (const item of list as unknown[]) {
      if (typeof item !== "object" || item === null) continue;
      const converted = toItem(item as Readonly<Record<string, unknown>>);
      if (await fitsResponse(operation, { [member]: [converted] })) items.push(converted);
    }
    if (items.length === 0 && list.length > 0) throw new Error("no item of the list has the described form");
    return items;
  } catch (error) {
    throw new HeddleError("busy", `The provider ${provider.name} does not respond with a list`, { cause: error });
  }
}

function picked(item: Readonly<Record<string, unknown>>, members: readonly string[]): unknown {
  return Object.fromEntries(members.flatMap((name) => (item[name] === undefined ? [] : [[name, item[name]]])));
}
