import { HeddleError } from "@heddle/errors";

/** Name of a tensor inside a graph; the empty string omits an optional input. */
export type TensorName = string;
/** A length, or the name of a symbolic dimension. */
export type Dimension = number | string;
export type ElementType = "float32" | "uint8" | "int8" | "int32" | "int64" | "bool" | "float16";
type Attribute = number | string | readonly number[] | { float: number };
type ConstantData = Float32Array | Uint8Array | Int8Array | Int32Array | BigInt64Array | Uint16Array;

const elementTypes: Record<ElementType, number> = {
  float32: 1,
  uint8: 2,
  int8: 3,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
};
/** Maximum size of a protobuf message: 2 GiB less one byte. */
const maxModelBytes = 2 ** 31 - 1;
const smallConstant = 64;

interface Node {
  inputs: TensorName[];
  outputs: TensorName[];
  rest: Message;
  /** The body of a loop. */
  body?: Body;
}

interface Body {
  nodes: Node[];
  inputs: Message[];
  outputs: Message[];
}

/** Values of a loop: `carried` from one iteration to the next, and `collected`, one per iteration. */
interface LoopValues {
  carried: readonly TensorName[];
  collected: readonly TensorName[];
}

/**
 * Builds an ONNX model (IR 8, opset 17, and the `com.microsoft` operators of onnxruntime) node by node. Nodes must be
 * added in topological order.
 */
export class Graph {
  /** Nodes of the graph, or of the body of the loop that is being added. */
  #nodes: Node[] = [];
  readonly #initializers: Message[] = [];
  readonly #inputs: Message[] = [];
  readonly #outputs: Message[] = [];
  readonly #exported = new Map<TensorName, string>();
  readonly #inputNames = new Set<string>();
  readonly #smallConstants = new Map<string, TensorName>();
  #count = 0;

  input(name: string, dimensions: readonly Dimension[], type: ElementType = "float32"): TensorName {
    this.#inputs.push(valueInfo(name, type, dimensions));
    this.#inputNames.add(name);
    return name;
  }

  /** Declares a tensor an output of the model under the given name. */
  output(name: string, value: TensorName, dimensions: readonly Dimension[], type: ElementType = "float32"): void {
    this.#outputs.push(valueInfo(name, type, dimensions));
    if (this.#exported.has(value) || this.#inputNames.has(value)) value = this.op("Identity", [value]);
    this.#exported.set(value, name);
  }

  /** Adds a constant tensor. Large data is not copied before `build`. */
  constant(data: ConstantData, dimensions: readonly number[], type: ElementType = "float32"): TensorName {
    const key = data.length <= smallConstant ? `${type}|${dimensions.join()}|${[...data].join()}` : undefined;
    const known = key === undefined ? undefined : this.#smallConstants.get(key);
    if (known !== undefined) return known;
    const name = this.#newName("c");
    if (key !== undefined) this.#smallConstants.set(key, name);
    const proto = new Message();
    for (const dimension of dimensions) proto.int(1, dimension);
    proto.int(2, elementTypes[type]).text(8, name);
    proto.bytes(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    this.#initializers.push(proto);
    return name;
  }

  scalar(value: number): TensorName {
    return this.constant(Float32Array.of(value), []);
  }

  /** Adds a constant int64 vector, as used for shapes, axes and splits. */
  integers(...values: number[]): TensorName {
    return this.constant(BigInt64Array.from(values, BigInt), [values.length], "int64");
  }

  /**
   * Adds a node with one output. Operators of other domains are written with their domain: `com.microsoft.FusedMatMul`.
   */
  op(type: string, inputs: readonly TensorName[], attributes: Record<string, Attribute> = {}): TensorName {
    return this.ops(type, inputs, attributes, ["value"]).value;
  }

  /** Adds a node with several outputs and returns their tensor names by the given keys. */
  ops<Name extends string>(
    type: string,
    inputs: readonly TensorName[],
    attributes: Record<string, Attribute>,
    outputs: readonly Name[],
  ): Record<Name, TensorName> {
    const dot = type.lastIndexOf(".");
    const rest = new Message().text(3, this.#newName("n")).text(4, type.slice(dot + 1));
    for (const [name, value] of Object.entries(attributes)) rest.message(5, attribute(name, value));
    if (dot > 0) rest.text(7, type.slice(0, dot));
    const named = outputs.map((name) => [name, this.#newName("v")] as const);
    this.#nodes.push({ inputs: [...inputs], outputs: named.map(([, value]) => value), rest });
    return Object.fromEntries(named) as Record<Name, TensorName>;
  }

  /**
   * Adds a loop of `count` (int64 scalar) iterations. `body` adds the nodes of one, given its number (int64 scalar) and
   * the float32 values carried into it; it may use all values added before. Returns the last carried values, and the
   * collected ones stacked along a new first dimension.
   */
  loop(
    count: TensorName,
    initial: readonly TensorName[],
    body: (iteration: TensorName, carried: readonly TensorName[]) => LoopValues,
  ): LoopValues {
    const outer = this.#nodes;
    const nodes: Node[] = [];
    this.#nodes = nodes;
    const [iteration, condition] = [this.#newName("v"), this.#newName("v")];
    const entering = initial.map(() => this.#newName("v"));
    const leaving = body(iteration, entering);
    const next = this.op("Identity", [condition]);
    // A value from outside the body, or one that is used twice, cannot be an output itself.
    const outputs = [...leaving.carried, ...leaving.collected].map((value) => this.op("Identity", [value]));
    this.#nodes = outer;
    const results = outputs.map(() => this.#newName("v"));
    this.#nodes.push({
      inputs: [count, "", ...initial],
      outputs: results,
      rest: new Message().text(3, this.#newName("n")).text(4, "Loop"),
      body: {
        nodes,
        inputs: [
          valueInfo(iteration, "int64", []),
          valueInfo(condition, "bool", []),
          ...entering.map((name) => valueInfo(name, "float32")),
        ],
        outputs: [valueInfo(next, "bool", []), ...outputs.map((name) => valueInfo(name, "float32"))],
      },
    });
    return { carried: results.slice(0, initial.length), collected: results.slice(initial.length) };
  }

  /** Returns the serialised model. Throws `too_large` above the 2 GiB limit of the format. */
  build(): Uint8Array<ArrayBuffer> {
    const graph = this.#message({ nodes: this.#nodes, inputs: this.#inputs, outputs: this.#outputs });
    for (const initializer of this.#initializers) graph.message(5, initializer);
    const model = new Message().int(1, 8).text(2, "heddle").message(7, graph);
    model.message(8, new Message().text(1, "").int(2, 17));
    model.message(8, new Message().text(1, "com.microsoft").int(2, 1));
    return model.build();
  }

  #message({ nodes, inputs, outputs }: Body): Message {
    const graph = new Message().text(2, "graph");
    const nameOf = (value: TensorName) => this.#exported.get(value) ?? value;
    for (const { inputs, outputs, rest, body } of nodes) {
      const node = new Message();
      for (const input of inputs) node.text(1, nameOf(input));
      for (const output of outputs) node.text(2, nameOf(output));
      node.append(rest);
      if (body) node.message(5, new Message().text(1, "body").message(6, this.#message(body)).int(20, 5));
      graph.message(1, node);
    }
    for (const input of inputs) graph.message(11, input);
    for (const output of outputs) graph.message(12, output);
    return graph;
  }

  #newName(prefix: string): string {
    return `${prefix}${this.#count++}`;
  }
}

/** Without `dimensions`, the tensor has any shape. */
function valueInfo(name: string, type: ElementType, dimensions?: readonly Dimension[]): Message {
  const tensorType = new Message().int(1, elementTypes[type]);
  if (dimensions) {
    const shape = new Message();
    for (const dimension of dimensions) {
      const proto = new Message();
      shape.message(1, typeof dimension === "string" ? proto.text(2, dimension) : proto.int(1, dimension));
    }
    tensorType.message(2, shape);
  }
  return new Message().text(1, name).message(2, new Message().message(1, tensorType));
}

function attribute(name: string, value: Attribute): Message {
  const proto = new Message().text(1, name);
  if (typeof value === "number") return proto.int(3, value).int(20, 2);
  if (typeof value === "string") return proto.text(4, value).int(20, 3);
  if ("float" in value) return proto.float(2, value.float).int(20, 1);
  for (const each of value) proto.int(8, each);
  return proto.int(20, 7);
}

/**
 * A protobuf message as a list of chunks, so that nested messages and large tensors are copied only once, at the end.
 */
class Message {
  readonly #chunks: Uint8Array[] = [];
  #length = 0;

  int(field: number, value: number): this {
    return this.#tag(field, 0).#varint(value);
  }

  float(field: number, value: number): this {
    this.#tag(field, 5);
    const chunk = Buffer.alloc(4);
    chunk.writeFloatLE(value);
    return this.#push(chunk);
  }

  text(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value));
  }

  bytes(field: number, value: Uint8Array): this {
    return this.#tag(field, 2).#varint(value.length).#push(value);
  }

  message(field: number, value: Message): this {
    return this.#tag(field, 2).#varint(value.#length).append(value);
  }

  append(other: Message): this {
    for (const chunk of other.#chunks) this.#push(chunk);
    return this;
  }

  build(): Uint8Array<ArrayBuffer> {
    if (this.#length > maxModelBytes) {
      throw new HeddleError(
        "too_large",
        `a graph with its constants would take ${this.#length} bytes, and the format holds ${maxModelBytes}`,
      );
    }
    const all = new Uint8Array(this.#length);
    let offset = 0;
    for (const chunk of this.#chunks) {
      all.set(chunk, offset);
      offset += chunk.length;
    }
    return all;
  }

  #tag(field: number, wire: number): this {
    return this.#varint(field * 8 + wire);
  }

  #varint(value: number): this {
    const bytes: number[] = [];
    let rest = BigInt.asUintN(64, BigInt(value));
    while (rest > 127n) {
      bytes.push(Number(rest & 127n) | 128);
      rest >>= 7n;
    }
    bytes.push(Number(rest));
    return this.#push(Uint8Array.from(bytes));
  }

  #push(chunk: Uint8Array): this {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    return this;
  }
}
