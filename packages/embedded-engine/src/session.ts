import type * as Onnx from "onnxruntime-node";
import { HeddleError } from "@heddle/errors";

type Library = typeof Onnx;

interface TensorData {
  float32: Float32Array;
  int32: Int32Array;
  int64: BigInt64Array;
  bool: Uint8Array;
  uint8: Uint8Array;
}
export type TensorType = keyof TensorData;

/** Input or output of a graph: a typed array with its dimensions. */
export interface Tensor<Type extends TensorType = TensorType> {
  readonly type: Type;
  readonly dims: readonly number[];
  readonly data: TensorData[Type];
}

/** An executable graph. `run` blocks its thread while the graph computes, although it returns a promise. */
export interface Session {
  /**
   * Runs the graph. If `fetches` holds tensors, their typed arrays are filled and the same tensors are returned (the
   * library itself returns other objects that hold copies). If `fetches` is a list of names or absent, new tensors are
   * allocated; absent selects all outputs.
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
  /** Returns the graph's memory to the allocator of the process, which may keep it. */
  release(): Promise<void>;
}

let loaded: Library | undefined;
let loading: Promise<Library> | undefined;

/**
 * Returns why the embedded engine cannot run on this machine and the remedy, in one sentence; undefined when it can.
 */
export async function unavailableReason(): Promise<string | undefined> {
  try {
    await library();
    return undefined;
  } catch (error) {
    if (error instanceof HeddleError) return error.message;
    throw error;
  }
}

export interface SessionOptions {
  /** Threads that compute one operator. Results do not depend on their number. */
  threads: number;
  /**
   * Keeps the memory of values for the next run (default true). If false, a run takes no more than it needs, but page
   * faults make it a third slower for large values.
   */
  reuseArena?: boolean;
}

/** Opens a session of a serialised ONNX model on the CPU. Rejects with `failed` if the library refuses the model. */
export async function openSession(model: Uint8Array, { threads, reuseArena = true }: SessionOptions): Promise<Session> {
  const { InferenceSession } = await library();
  const session = await InferenceSession.create(model, {
    executionProviders: ["cpu"],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: "sequential",
    graphOptimizationLevel: "all",
    enableCpuMemArena: reuseArena,
    // The memory plan per input shape takes more memory and is not faster when shapes vary.
    enableMemPattern: false,
    // Masked attention produces many denormal numbers, which are about a hundred times slower to compute with. This
    // flushes them to zero for the whole thread, JavaScript included. The first session of a process decides.
    //
    // Threads that wait for their part of an operator must not take a core from the other processes of the engine.
    extra: { session: { set_denormal_as_zero: "1", intra_op: { allow_spinning: "0" } } },
  }).catch((error: unknown) => {
    throw new HeddleError("failed", `the graph could not be prepared: ${reasonOf(error)}`);
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
        throw new HeddleError("failed", `the graph could not run: ${reasonOf(error)}`);
      });
    if (fetches !== undefined && !Array.isArray(fetches)) return fetches as Readonly<Record<string, Tensor>>;
    return results as unknown as Record<string, Tensor>;
  };
  return { run, release: () => session.release() };
}

/**
 * Wraps a typed array without copying it. The library refuses arrays over a SharedArrayBuffer. Requires the library to
 * be loaded: await `openSession` or `unavailableReason` first.
 */
export function tensor<Type extends TensorType>(
  type: Type,
  data: TensorData[Type],
  dims: readonly number[],
): Tensor<Type> {
  if (!loaded) throw new HeddleError("failed", "a tensor was created before onnxruntime-node was loaded");
  return new loaded.Tensor(type, data as Float32Array, dims) as unknown as Tensor<Type>;
}

/**
 * Frees output arrays immediately instead of at the next garbage collection, so that the next run reuses memory that is
 * still mapped. The arrays are empty afterwards.
 */
export function discard(tensors: Iterable<Tensor>): void {
  const buffers = new Set<ArrayBuffer>();
  for (const { data } of tensors) if (data.buffer instanceof ArrayBuffer) buffers.add(data.buffer);
  // A closed port accepts transferred buffers and drops them.
  discardPort.postMessage(null, [...buffers]);
}

const discardPort = createClosedPort();

function createClosedPort(): typeof MessageChannel.prototype.port1 {
  const { port1 } = new MessageChannel();
  port1.close();
  return port1;
}

function library(): Promise<Library> {
  // The library reads it when it is loaded. Without it, it keeps a device id and sends usage data to its manufacturer.
  process.env["ORT_DISABLE_TELEMETRY"] = "1";
  loading ??= import("onnxruntime-node").then(
    (module) => {
      // The library writes warnings about skipped optimisations to stderr.
      module.env.logLevel = "error";
      loaded = module;
      return module;
    },
    (error: unknown) => {
      throw new HeddleError("unsupported", missing(error));
    },
  );
  return loading;
}

function missing(error: unknown): string {
  const remedy = "or name a remote trainer in HEDDLE_TRAINER_URL";
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ERR_MODULE_NOT_FOUND") {
    return `The embedded training engine needs the optional package onnxruntime-node, which is not installed: npm leaves it out without a word when its install script cannot download libraries for GPUs, which are not needed. Install again with ONNXRUNTIME_NODE_INSTALL=skip in the environment and without leaving optional packages out, ${remedy}.`;
  }
  return `The embedded training engine cannot run on ${process.platform}-${process.arch} because onnxruntime-node does not load here (${reasonOf(error)}): use Linux with glibc 2.28 or newer, macOS on arm64 or Windows, ${remedy}.`;
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split("\n", 1)[0] ?? message;
}
