/** Writes messages of Protocol Buffers, as far as an export of spans needs them. */
class MessageWriter {
  readonly #parts: Uint8Array[] = [];

  text(field: number, value: string): this {
    return this.bytes(field, new TextEncoder().encode(value));
  }

  bytes(field: number, value: Uint8Array): this {
    this.#parts.push(varint((field << 3) | 2), varint(value.length), value);
    return this;
  }

  message(field: number, write: (message: MessageWriter) => MessageWriter): this {
    return this.bytes(field, write(new MessageWriter()).finish());
  }

  enumeration(field: number, value: number): this {
    this.#parts.push(varint(field << 3), varint(value));
    return this;
  }

  fixed64(field: number, value: bigint): this {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setBigUint64(0, value, true);
    this.#parts.push(varint((field << 3) | 1), bytes);
    return this;
  }

  finish(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(Buffer.concat(this.#parts));
  }
}

function varint(value: number): Uint8Array {
  const bytes = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Uint8Array.from([...bytes, rest]);
}

/** An `ExportTraceServiceRequest` with one span, whose resource names the project. */
export function encodeSpan({ projectId, traceId, spanId }: Record<"projectId" | "traceId" | "spanId", string>) {
  const [entity = "", project = ""] = projectId.split("/");
  const attribute = (field: number, key: string, value: string) => (message: MessageWriter) =>
    message.message(field, (pair) => pair.text(1, key).message(2, (any) => any.text(1, value)));
  const resource = (message: MessageWriter) =>
    attribute(1, "wandb.project", project)(attribute(1, "wandb.entity", entity)(message));
  const span = (message: MessageWriter) =>
    attribute(
      9,
      "gen_ai.request.model",
      "gpt-4o-mini",
    )(
      message
        .bytes(1, Buffer.from(traceId, "hex"))
        .bytes(2, Buffer.from(spanId, "hex"))
        .text(5, "chat")
        .enumeration(6, 3)
        .fixed64(7, 1_775_811_600_000_000_000n)
        .fixed64(8, 1_775_811_601_250_000_000n),
    );
  return new MessageWriter()
    .message(1, (resourceSpans) =>
      resourceSpans.message(1, resource).message(2, (scopeSpans) => scopeSpans.message(2, span)),
    )
    .finish();
}
