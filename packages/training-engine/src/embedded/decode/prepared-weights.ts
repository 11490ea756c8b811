import type { ModelConfig } from "../../model/config.js";
import type { LoraConfig, ParameterSet } from "../../model/parameters.js";
import type { Session, Tensor } from "../session.js";
import { openSession, tensor } from "../session.js";
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
const maxPrepackedBytes = 2 ** 28;

export function defaultMode(weightBytes: number): WeightsMode {
  return weightBytes <= maxPrepackedBytes ? "prepacked" : "inputs";
}

/** A graph that can run, with the weights to hand in. */
interface GraphWithWeights {
  session: Session;
  weights: Readonly<Record<string, Tensor>>;
}

/** Weights that can prefill and decode: a whole model, or an adapter on one. */
export interface PreparedWeights {
  readonly config: ModelConfig;
  readonly prefill: GraphWithWeights;
  readonly decode: GraphWithWeights;
}

/** A whole model and the sessions of the adapters on it; adapters of one shape share a session. */
export interface PreparedBase extends PreparedWeights {
  adapt(adapter: LoraConfig, factors: ParameterSet): Promise<PreparedWeights>;
  release(): Promise<void>;
}

export async function prepareBase(
  config: ModelConfig,
  weights: ParameterSet,
  { mode = defaultMode(weights.flat.byteLength), threads = 1 }: { mode?: WeightsMode; threads?: number } = {},
): Promise<PreparedBase> {
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
  const inputTensors = tensorsOf(weights);
  const decodeInputs = constants ? {} : inputTensors;
  const adapted = new Map<string, ReturnType<typeof sessions>>();
  return {
    config,
    prefill: { session: base.prefill, weights: inputTensors },
    decode: { session: base.decode, weights: decodeInputs },
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
        prefill: { session: prefill, weights: { ...inputTensors, ...tensors } },
        decode: { session: decode, weights: { ...decodeInputs, ...tensors } },
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
