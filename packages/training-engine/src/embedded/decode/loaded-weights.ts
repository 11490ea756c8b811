import type { ModelConfig } from "../../model/config.js";
import type { AdapterConfig, ParameterSet } from "../../model/parameters.js";
import { openSession, tensor, type Session, type Tensor } from "../session.js";
import type { GraphVariant } from "./block.js";
import { decodeGraph } from "./decode-graph.js";
import { prefillGraph } from "./prefill-graph.js";

/**
 * How the decode graph has its weights. `inputs`: they are handed in with every step, nothing is prepared and nothing kept
 * twice. `prepacked`: they are constants of the graph, which the library rearranges once: up to twice as fast, at the price
 * of 10 to 30 milliseconds per million weights to begin with and of about 1.4 times their memory once more. The last bits of
 * the logits differ between the two. Prompts always take the weights as inputs: there the rearranging is paid by many tokens
 * at once.
 */
export type WeightsMode = "inputs" | "prepacked";

/** Above this many bytes of weights the copies cost more than the speed is worth on a small machine. */
const mostPrepacked = 2 ** 28;

export function defaultMode(weightBytes: number): WeightsMode {
  return weightBytes <= mostPrepacked ? "prepacked" : "inputs";
}

/** A graph that can run, with the weights to hand in. */
interface Program {
  session: Session;
  weights: Readonly<Record<string, Tensor>>;
}

/** Weights that can prefill and decode: a whole model, or an adapter on one. */
export interface LoadedWeights {
  readonly config: ModelConfig;
  readonly prefill: Program;
  readonly decode: Program;
}

/** A whole model and the sessions of the adapters on it; adapters of one shape share a session. */
export interface LoadedBase extends LoadedWeights {
  adapt(adapter: AdapterConfig, factors: ParameterSet): Promise<LoadedWeights>;
  release(): Promise<void>;
}

export async function loadBase(
  config: ModelConfig,
  weights: ParameterSet,
  { mode = defaultMode(weights.flat.byteLength), threads = 1 }: { mode?: WeightsMode; threads?: number } = {},
): Promise<LoadedBase> {
  const opened: Session[] = [];
  const open = async (graph: Uint8Array) => {
    const session = await openSession(graph, { threads });
    opened.push(session);
    return session;
  };
  const constants = mode === "prepacked" ? weights : undefined;
  const sessions = async (variant: GraphVariant) => ({
    prefill: await open(prefillGraph(variant)),
    decode: await open(decodeGraph({ ...variant, constants })),
  });
  const base = await sessions({ config });
  const asInputs = tensorsOf(weights);
  const toDecode = constants ? {} : asInputs;
  const adapted = new Map<string, ReturnType<typeof sessions>>();
  return {
    config,
    prefill: { session: base.prefill, weights: asInputs },
    decode: { session: base.decode, weights: toDecode },
    async adapt(adapter, factors) {
      const key = JSON.stringify([adapter.rank, adapter.alpha, adapter.targets.toSorted()]);
      const shared = adapted.get(key) ?? sessions({ config, adapter });
      adapted.set(key, shared);
      // A failed attempt must not stand in the way of the next one.
      shared.catch(() => adapted.delete(key));
      const { prefill, decode } = await shared;
      const tensors = tensorsOf(factors);
      return {
        config,
        prefill: { session: prefill, weights: { ...asInputs, ...tensors } },
        decode: { session: decode, weights: { ...toDecode, ...tensors } },
      };
    },
    async release() {
      await Promise.all(opened.map((session) => session.release()));
    },
  };
}

function tensorsOf({ parameters, views }: ParameterSet): Record<string, Tensor> {
  return Object.fromEntries(
    parameters.map(({ name, shape }) => [name, tensor("float32", views.get(name) ?? new Float32Array(), shape)]),
  );
}
