import { HeddleError } from "@heddle/errors";
import type { ModelConfig, ModelFamily, RotaryScaling } from "../model/config.js";
import type { TensorLocation } from "../weights/tensor-layout.js";
import type { ExportFormat } from "./encode-numbers.js";
import { encodeNumbers } from "./encode-numbers.js";
import type { GgufContent, GgufTensor, GgufValue } from "./gguf-file.js";
import { ggufTokenizer } from "./gguf-tokenizer.js";
import type { MergedTensors } from "./merged-tensors.js";

interface Architecture {
  name: string;
  /** Whether the rotation pairs neighbours instead of halves, so that rows of queries and keys change their places. */
  rotatesNeighbours: boolean;
  /** Settings that it has besides those of all. */
  expresses?: readonly (keyof ModelConfig)[];
  /** Every so many layers one is without positions. */
  withoutPositions?: number;
}

/** Names of llama.cpp for the families whose computation it has in the same form. */
const architectures = new Map<ModelFamily, Architecture>([
  ["llama", { name: "llama", rotatesNeighbours: true }],
  ["mistral", { name: "llama", rotatesNeighbours: true }],
  ["qwen2", { name: "qwen2", rotatesNeighbours: false }],
  ["qwen3", { name: "qwen3", rotatesNeighbours: false }],
  ["qwen3_moe", { name: "qwen3moe", rotatesNeighbours: false, expresses: ["experts"] }],
  ["smollm3", { name: "smollm3", rotatesNeighbours: true, withoutPositions: 4 }],
  [
    "granite",
    {
      name: "granite",
      rotatesNeighbours: true,
      expresses: ["embeddingScale", "attentionScale", "residualScale", "logitScale"],
    },
  ],
]);

export function hasGguf(family: ModelFamily): boolean {
  return architectures.has(family);
}

/** Settings that the metadata or the tensors express. */
const expressed = new Set<string>(
  (
    "family vocabularySize hiddenSize layers heads keyValueHeads headSize feedForwardSize contextLength normEpsilon rotaryBase " +
    "rotaryScaling tiedEmbeddings queryKeyNorm attentionBias"
  ).split(" "),
);

/**
 * What a GGUF file of a model has.
 *
 * @throws HeddleError `unsupported` for a family, a setting or a tokenizer that llama.cpp does not have in the same form.
 */
export async function ggufModel(
  tensors: MergedTensors,
  { format, name }: { format: ExportFormat; name: string },
): Promise<GgufContent> {
  const { locations } = tensors;
  const { family } = tensors.config;
  const architecture = architectures.get(family);
  if (architecture === undefined) {
    const known = [...architectures.keys()].join(", ");
    throw unsupported(`models of the family ${family} cannot be written as GGUF; those of ${known} can`);
  }
  const config = withinWindows(tensors.config, architecture);
  const known = new Set<string>([...expressed, ...(architecture.expresses ?? [])]);
  const other = Object.entries(config).find(([key, value]) => isSet(value) && !known.has(key));
  if (other) throw unsupported(`a model with ${other[0]} cannot be written as GGUF`);
  if (config.experts?.sharesSumToOne === false)
    throw unsupported("a model whose shares of experts do not sum to one cannot be written as GGUF");
  const metadata = new Map<string, GgufValue>([
    ["general.architecture", { type: "string", value: architecture.name }],
    ["general.name", { type: "string", value: name }],
    ["general.file_type", { type: "uint32", value: format === "F32" ? 0 : 32 }],
    ...shapeOf(config, architecture),
    ...(await ggufTokenizer(tensors.directory, config.vocabularySize)),
  ]);
  const stored = withStackedExperts(locations).map(({ name: tensor, shape, from }): GgufTensor => {
    const type = shape.length === 1 || tensor.includes("ffn_gate_inp") ? "F32" : format;
    return {
      name: tensor,
      shape,
      format: type,
      async *parts() {
        for (const location of from) {
          const values = await tensors.read(location);
          yield* encodeNumbers(architecture.rotatesNeighbours ? rotated(values, location, config) : values, type);
        }
      },
    };
  });
  return { metadata, tensors: [...rotaryTensors(config), ...stored] };
}

/** A tensor of the file, and those that follow each other in it. */
interface StackedTensor {
  name: string;
  shape: number[];
  from: TensorLocation[];
}

const expertName = /^model\.layers\.(\d+)\.mlp\.experts\.\d+\.(gate|up|down)_proj\.weight$/u;

/** The matrices of all experts of a layer are one tensor [experts, outputs, inputs]. */
function withStackedExperts(locations: readonly TensorLocation[]): StackedTensor[] {
  const stacked = new Map<string, StackedTensor>();
  for (const location of locations) {
    const { tensor, shape } = location;
    const [, layer, which] = expertName.exec(tensor) ?? [];
    const name = layer === undefined ? tensorName(tensor) : `blk.${layer}.ffn_${which}_exps.weight`;
    const from = [...(stacked.get(name)?.from ?? []), location];
    stacked.set(name, { name, shape: layer === undefined ? shape : [from.length, ...shape], from });
  }
  return [...stacked.values()];
}

/**
 * The model for texts within its windows, where these make no difference: llama.cpp has none for these families. Layers without
 * positions are those that it has.
 */
function withinWindows(config: ModelConfig, { withoutPositions }: Architecture): ModelConfig {
  const { layerKinds, ...rest } = config;
  const isKnown = (rotary: string | undefined, layer: number) => {
    const hasNone = withoutPositions !== undefined && (layer + 1) % withoutPositions === 0;
    return rotary === (hasNone ? "none" : undefined);
  };
  if (!layerKinds) {
    if (withoutPositions === undefined || config.layers < withoutPositions) return config;
    throw unsupported(`a model with positions in layer ${withoutPositions} cannot be written as GGUF`);
  }
  if (!layerKinds.every(({ rotary }, layer) => isKnown(rotary, layer))) return config;
  const widths = layerKinds.map(({ window }) => window ?? config.contextLength);
  return { ...rest, contextLength: Math.min(config.contextLength, ...widths) };
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}

function shapeOf(config: ModelConfig, { name }: Architecture): [string, GgufValue][] {
  const integer = (key: string, value: number): [string, GgufValue] => [`${name}.${key}`, { type: "uint32", value }];
  const real = (key: string, value: number): [string, GgufValue] => [`${name}.${key}`, { type: "float32", value }];
  return [
    integer("vocab_size", config.vocabularySize),
    integer("context_length", config.contextLength),
    integer("embedding_length", config.hiddenSize),
    integer("block_count", config.layers),
    integer("feed_forward_length", config.feedForwardSize),
    integer("attention.head_count", config.heads),
    integer("attention.head_count_kv", config.keyValueHeads),
    integer("attention.key_length", config.headSize),
    integer("attention.value_length", config.headSize),
    integer("rope.dimension_count", config.headSize),
    real("attention.layer_norm_rms_epsilon", config.normEpsilon),
    real("rope.freq_base", config.rotaryBase),
    ...scalingOf(config.rotaryScaling, name),
    ...(config.experts
      ? [
          integer("expert_count", config.experts.count),
          integer("expert_used_count", config.experts.perToken),
          integer("expert_feed_forward_length", config.feedForwardSize),
        ]
      : []),
    ...(config.family === "granite"
      ? [
          real("embedding_scale", config.embeddingScale ?? 1),
          real("attention.scale", config.attentionScale ?? config.headSize ** -0.5),
          real("residual_scale", config.residualScale ?? 1),
          real("logit_scale", 1 / (config.logitScale ?? 1)),
        ]
      : []),
  ];
}

function scalingOf(scaling: RotaryScaling | undefined, name: string): [string, GgufValue][] {
  // The rule of Llama 3.1 is a tensor of factors.
  if (scaling === undefined || scaling.type === "llama3") return [];
  if (scaling.type !== "linear")
    throw unsupported(`a model with rotary scaling of the type ${scaling.type} cannot be written as GGUF`);
  return [
    [`${name}.rope.scaling.type`, { type: "string", value: "linear" }],
    [`${name}.rope.scaling.factor`, { type: "float32", value: scaling.factor }],
  ];
}

/** What the frequencies are divided by. */
function rotaryTensors({ rotaryScaling: scaling, rotaryBase, headSize }: ModelConfig): GgufTensor[] {
  if (scaling?.type !== "llama3") return [];
  const { factor, lowFrequencyFactor: low, highFrequencyFactor: high, originalContextLength: context } = scaling;
  const divisors = Float32Array.from({ length: headSize / 2 }, (_, pair) => {
    const rotations = context / (2 * Math.PI * rotaryBase ** ((2 * pair) / headSize));
    if (rotations > high) return 1;
    if (rotations < low) return factor;
    const smooth = (rotations - low) / (high - low);
    return 1 / ((1 - smooth) / factor + smooth);
  });
  return [
    {
      name: "rope_freqs.weight",
      shape: [headSize / 2],
      format: "F32",
      async *parts() {
        yield* encodeNumbers(divisors, "F32");
      },
    },
  ];
}

const outerNames: Readonly<Record<string, string>> = {
  "model.embed_tokens.weight": "token_embd.weight",
  "model.norm.weight": "output_norm.weight",
  "lm_head.weight": "output.weight",
};
const layerNames: Readonly<Record<string, string>> = {
  input_layernorm: "attn_norm",
  "self_attn.q_proj": "attn_q",
  "self_attn.k_proj": "attn_k",
  "self_attn.v_proj": "attn_v",
  "self_attn.o_proj": "attn_output",
  "self_attn.q_norm": "attn_q_norm",
  "self_attn.k_norm": "attn_k_norm",
  post_attention_layernorm: "ffn_norm",
  "mlp.gate": "ffn_gate_inp",
  "mlp.gate_proj": "ffn_gate",
  "mlp.up_proj": "ffn_up",
  "mlp.down_proj": "ffn_down",
};

function tensorName(tensor: string): string {
  const outer = outerNames[tensor];
  if (outer !== undefined) return outer;
  const [, layer, module, kind] = /^model\.layers\.(\d+)\.(.+)\.(weight|bias)$/u.exec(tensor) ?? [];
  const name = module === undefined ? undefined : layerNames[module];
  if (name === undefined) throw unsupported(`the tensor ${tensor} cannot be written as GGUF`);
  return `blk.${layer}.${name}.${kind}`;
}

/** Puts the two halves of each head of queries or keys next to each other, row by row. */
function rotated(
  values: Float32Array,
  { tensor, shape }: TensorLocation,
  { heads, keyValueHeads, headSize }: ModelConfig,
): Float32Array {
  const [, which] = /\.self_attn\.([qk])_proj\.(?:weight|bias)$/u.exec(tensor) ?? [];
  if (which === undefined) return values;
  const width = shape[1] ?? 1;
  const into = new Float32Array(values.length);
  const half = headSize / 2;
  for (let head = 0; head < (which === "q" ? heads : keyValueHeads); head++) {
    for (let row = 0; row < headSize; row++) {
      const from = (head * headSize + row) * width;
      const to = head * headSize + (row < half ? 2 * row : 2 * (row - half) + 1);
      into.set(values.subarray(from, from + width), to * width);
    }
  }
  return into;
}

function unsupported(message: string): HeddleError {
  return new HeddleError("unsupported", message);
}
