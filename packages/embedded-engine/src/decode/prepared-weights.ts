import type { LoraConfig } from "@heddle/training";
import type { ModelConfig } from "../model/config.js";
import type { ParameterSet } from "../model/parameters.js";
import type { Session, Tensor } from "../session.js";
import { openSession, tensor } from "../session.js";
import type { GraphVariant } from "./block.js";
import { decodeGraph } from "./decode-graph.js";
import { withOutputsFirst } from "./outputs-first.js";
import { prefillGraph } from "./prefill-graph.js";

/**
 * How the decode graph receives its weights.
 *
 * - `inputs`: as inputs of every step. Nothing is prepared and nothing is stored twice.
 * - `outputsFirst`: as inputs, after their projections were put into another order in place, which is up to twice as fast for a few
 *   rows; see `outputs-first.ts`.
 * - `prepacked`: as constants of the graph, which the library repacks once. Up to twice as fast, for 10 to 30 ms of
 *   preparation per million weights and about 1.4 times their memory in addition.
 *
 * The last bits of the logits differ between them. Prefill always takes the weights as inputs: it amortises
 * repacking over many tokens per run.
 */
export type WeightsMode = "inputs" | "outputsFirst" | "prepacked";

/**
 * Maximum bytes of weights for `prepacked`: above, the copies cost more memory than the speed is worth on a small
 * machine.
 */
const maxPrepackedBytes = 2 ** 28;

export function defaultMode(weightBytes: number): WeightsMode {
  return weightBytes <= maxPrepackedBytes ? "prepacked" : "outputsFirst";
}

/** An executable graph with the weights that are its inputs. */
interface GraphWithWeights {
  session: Session;
  weights: Readonly<Record<string, Tensor>>;
}

/** Weights ready for prefill and decoding: a model, or an adapter on a model. */
export interface PreparedWeights {
  readonly config: ModelConfig;
  readonly prefill: GraphWithWeights;
  readonly decode: GraphWithWeights & {
    /** A graph that computes the same faster for a few rows; see `isFew`. Absent: there is none. */
    few?: Session | undefined;
  };
}

/** Whether a step of so many rows takes less time with the weights as first operands. */
export function isFew(rows: number): boolean {
  return rows > 1 && rows <= 32;
}

/** A model, with the sessions of the adapters on it. Adapters of the same configuration share a session. */
export interface PreparedBase extends PreparedWeights {
  adapt(adapter: LoraConfig, factors: ParameterSet): Promise<PreparedWeights>;
  release(): Promise<void>;
}

export async function prepareBase(
  config: ModelConfig,
  weights: ParameterSet,
  { mode = defaultMode(weights.flat.byteLength), threads = 1 }: { mode?: WeightsMode; threads?: number } = {},
): Promise<PreparedBase> {
  const used = mode === "outputsFirst" ? await withOutputsFirst(weights) : weights;
  const opened: Session[] = [];
  const open = async (graph: Uint8Array) => {
    const session = await openSession(graph, { threads });
    opened.push(session);
    return session;
  };
  const constants = mode === "prepacked" ? weights : undefined;
  const outputsFirst = mode === "outputsFirst" ? ("second" as const) : undefined;
  const sessions = async (kind: Pick<GraphVariant, "config" | "adapter">) => {
    const variant = { ...kind, ...(outputsFirst && { outputsFirst }) };
    return {
      prefill: await open(prefillGraph(variant)),
      decode: await open(decodeGraph({ ...variant, constants })),
      few: outputsFirst && (await open(decodeGraph({ ...kind, outputsFirst: "first" }))),
    };
  };
  const base = await sessions({ config });
  const inputTensors = tensorsOf(used);
  const decodeInputs = constants ? {} : inputTensors;
  const adapted = new Map<string, ReturnType<typeof sessions>>();
  return {
    config,
    prefill: { session: base.prefill, weights: inputTensors },
    decode: { session: base.decode, few: base.few, weights: decodeInputs },
    async adapt(adapter, factors) {
      const key = JSON.stringify([adapter.rank, adapter.alpha, adapter.targets.toSorted()]);
      const shared = adapted.get(key) ?? sessions({ config, adapter });
      adapted.set(key, shared);
      // A failed attempt must not be cached.
      shared.catch(() => adapted.delete(key));
      const { prefill, decode, few } = await shared;
      const tensors = tensorsOf(factors);
      return {
        config,
        prefill: { session: prefill, weights: { ...inputTensors, ...tensors } },
        decode: { session: decode, few, weights: { ...decodeInputs, ...tensors } },
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
