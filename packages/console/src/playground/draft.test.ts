import { expect, test } from "vitest";
import {
  bodyOf,
  draftOf,
  editMessage,
  emptyDraft,
  messagesIn,
  parametersText,
  textOfMessage,
  withMember,
  withMessages,
  toolNamesIn,
  withParameters,
  withTools,
} from "./draft.js";

const image = `{"role":"user", "content": [{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}`;
const recorded = `{"model":"gpt","messages":[ {"role":"system","content":"Be brief","name":1.0} , ${image}],"tools":[{"type":"function","function":{"name":"f","parameters":{"maximum":1E400}}}],"temperature":1.0,"seed":107505301260286111,"stream":false}`;

test("what is not edited is sent byte for byte, to another model, as a stream", () => {
  const { draft, model } = draftOf(recorded);
  expect(model).toBe("gpt");
  const body = bodyOf(draft, 'a/b/"c"');
  expect(body).toBe(
    recorded
      .replace('"model":"gpt"', String.raw`"model":"a/b/\"c\""`)
      .replace('"stream":false', '"stream":true,"stream_options":{"include_usage":true}'),
  );
  expect(bodyOf(withMessages(draft, messagesIn(draft)), "m")).toBe(bodyOf(draft, "m"));
});

test("an edited message keeps its other members, and the others their text", () => {
  const { draft } = draftOf(recorded);
  const [system = "", user = ""] = messagesIn(draft);
  expect([textOfMessage(system), textOfMessage(user)]).toEqual(["Be brief", undefined]);
  const edited = editMessage(system, { content: 'Be "long"' });
  expect(edited).toContain(String.raw`"content":"Be \"long\"","name":1.0`);
  expect(messagesIn(withMessages(draft, [edited, user]))).toEqual([edited, image]);
});

test("more messages than are read at a time are all there", () => {
  const many = Array.from({ length: 1203 }, (_, n) => `{"role":"user","content":"${n}"}`);
  expect(messagesIn(withMessages(emptyDraft, many))).toEqual(many);
});

test("parameters are edited as JSON, and mistakes say what is wrong", () => {
  const { draft } = draftOf(recorded);
  expect(parametersText(draft)).toBe('{\n  "temperature": 1.0,\n  "seed": 107505301260286111\n}');
  expect(withParameters(draft, parametersText(draft))).toEqual({ draft });
  for (const text of [
    "{",
    "[]",
    '{"messages":[]}',
    '{"model":"x"}',
    '{"stream":true,"stream_options":{"include_usage":true}}',
  ])
    expect(withParameters(draft, text)).toHaveProperty("mistake");
  expect(withMember(draft, "seed", undefined).has("seed")).toBe(false);
});

test("tools are kept as they are written, and one without a name is named by its place", () => {
  const tools = ' [{"type":"function","function":{"name":"look","parameters":{"maximum":1E2}}}]';
  const read = withTools(emptyDraft, tools);
  expect("draft" in read && [read.draft.get("tools"), toolNamesIn(read.draft)]).toEqual([tools.trim(), ["look"]]);
  expect("draft" in read && withTools(read.draft, "  ")).toEqual({ draft: emptyDraft });
  expect(withTools(emptyDraft, "{}")).toEqual({ mistake: "A list of tools, in brackets" });
  expect(withTools(emptyDraft, '[{"function":{"name":"a"}},{"function":{}}]')).toEqual({
    mistake: "Tool 2 has no function with a name",
  });
  expect(withTools(emptyDraft, "[")).toHaveProperty("mistake");
  expect(toolNamesIn(new Map([["tools", '{"no":"list"}']]))).toEqual([]);
});
