import type * as Onnx from "onnxruntime-node";
import { EngineError } from "../engine-error.js";

type Library = typeof Onnx;

interface TensorData {
  float32: Float32Array;
  int32: Int32Array;
  int64: BigInt64Array;
  bool: Uint8Array;
  uint8: Uint8Array;
}
export type TensorType = keyof TensorData;

/** A typed array with its dimensions, as a graph takes and gives it. */
export interface Tensor<Type extends TensorType = TensorType> {
  readonly type: Type;
  readonly dims: readonly number[];
  readonly data: TensorData[Type];
}

/** A graph that can run. `run` blocks its thread while the graph computes, although it returns a promise. */
export interface Session {
  /**
   * Runs the graph. With `fetches` that hold tensors, their typed arrays are filled and the same tensors are returned (the
   * library itself answers with other objects that hold copies); with names, or nothing for all outputs, new ones are made.
   */
  run<Name extends string>(
    feeds: Readonly<Record<string, Tensor>>,
    fetches: Readonly<Record<Name, Tensor>>,
  ): Promise<Readonly<Record<Name, Tensor>>>;
  run<Name extends string>(
    feeds: Readonly<Record<string, Tensor>>,
    fetches: readonly Name[],
  ): Promise<Record<Name, Tensor>>;
  run(feeds: Readonly<Record<string, Tensor>>): Promise<Record<string, Tensor>>;
  /** Gives the graph's memory back to the allocator of the process, which may keep it. */
  release(): Promise<void>;
}

let loaded: Library | undefined;
let loading: Promise<Library> | undefined;

/** Why the embedded engine cannot run here and what to do, in one sentence; undefined when it can. */
export async function unavailableReason(): Promise<string | undefined> {
  try {
    await library();
    return undefined;
  } catch (error) {
    if (error instanceof EngineError) return error.message;
    throw error;
  }
}

export interface SessionOptions {
  /** So many compute together on one operator; results do not depend on their number. */
  threads: number;
  /**
   * Keep the memory of values for the next run (default). Without, a run takes no more than it needs, and the system makes the
   * pages anew each time: a third slower where values are large.
   */
  reuseArena?: boolean;
}

/** Prepares a graph for the CPU. */
export async function openSession(model: Uint8Array, { threads, reuseArena = true }: SessionOptions): Promise<Session> {
  const { InferenceSession } = await library();
  const session = await InferenceSession.create(model, {
    executionProviders: ["cpu"],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: "sequential",
    graphOptimizationLevel: "all",
    enableCpuMemArena: reuseArena,
    // A plan of memory per shape of the inputs: where shapes vary it took more memory and was not faster.
    enableMemPattern: false,
    // Masked attention is full of numbers too small to be normal, on which a processor takes a hundred times as long. This
    // makes them zero, in this thread altogether (also for JavaScript), and the first session of a process decides.
    extra: { session: { set_denormal_as_zero: "1" } },
  }).catch((error: unknown) => {
    throw new EngineError("failed", `the graph could not be prepared: ${reasonOf(error)}`);
  });
  const run = async (
    feeds: Readonly<Record<string, Tensor>>,
    fetches?: Readonly<Record<string, Tensor>> | readonly string[],
  ): Promise<Readonly<Record<string, Tensor>>> => {
    const results = await session
      .run(
        feeds as Onnx.InferenceSession.FeedsType,
        (fetches ?? session.outputNames) as Onnx.InferenceSession.FetchesType,
      )
      .catch((error: unknown) => {
        throw new EngineError("failed", `the graph could not run: ${reasonOf(error)}`);
      });
    if (fetches !== undefined && !Array.isArray(fetches)) return fetches as Readonly<Record<string, Tensor>>;
    return results as unknown as Record<string, Tensor>;
  };
  return { run, release: () => session.release() };
}

/**
 * Wraps a typed array, which it shares. Arrays over a SharedArrayBuffer are refused by the library. Needs the library to be
 * loaded: await `openSession` or `unavailableReason` first.
 */
export function tensor<Type extends TensorType>(
  type: Type,
  data: TensorData[Type],
  dims: readonly number[],
): Tensor<Type> {
  if (!loaded) throw new EngineError("failed", "a tensor was made before onnxruntime-node was loaded");
  return new loaded.Tensor(type, data as Float32Array, dims) as unknown as Tensor<Type>;
}

/**
 * Frees the arrays of outputs that nobody needs any more, now instead of when the collector comes by: the next run finds the
 * same memory again, still mapped. They are empty afterwards.
 */
export function discard(tensors: Iterable<Tensor>): void {
  const buffers = new Set<ArrayBuffer>();
  for (const { data } of tensors) if (data.buffer instanceof ArrayBuffer) buffers.add(data.buffer);
  // A closed port takes what is transferred to it and drops it.
  discardPort.postMessage(null, [...buffers]);
}

const discardPort = createClosedPort();

function createClosedPort(): typeof MessageChannel.prototype.port1 {
  const { port1 } = new MessageChannel();
  port1.close();
  return port1;
}

function library(): Promise<Library> {
  loading ??= import("onnxruntime-node").then(
    (module) => {
      // Its warnings go to stderr by themselves and are about optimisations it did not make.
      module.env.logLevel = "error";
      loaded = module;
      return module;
    },
    (error: unknown) => {
      throw new EngineError("unsupported", missing(error));
    },
  );
  return loading;
}

function missing(error: unknown): string {
  const remedy = "or name a remote trainer in HEDDLE_TRAINER_URL";
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ERR_MODULE_NOT_FOUND") {
    return `The embedded training engine needs the optional package onnxruntime-node, which is not installed: install the dependencies without leaving optional ones out, ${remedy}.`;
  }
  return `The embedded training engine cannot run on ${process.platform}-${process.arch} because onnxruntime-node does not load here (${reasonOf(error)}): use Linux with glibc 2.28 or newer, macOS on arm64 or Windows, ${remedy}.`;
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split("\n", 1)[0] ?? message;
}
