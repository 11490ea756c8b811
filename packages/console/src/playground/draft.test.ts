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
  withParameters,
} from "./draft.js";

const image = `{"role":"user", "content": [{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}`;
const recorded = `{"model":"gpt","messages":[ {"role":"system","content":"Be brief","name":1.0} , ${image}],"tools":[{"type":"function","function":{"name":"f","parameters":{"maximum":1E400}}}],"temperature":1.0,"seed":107505301260286111,"stream":false}`;

test("what is not edited is sent byte for byte, to another model, as a stream", () => {
  const { draft, model } = draftOf(recorded);
  expect(model).toBe("gpt");
  const body = bodyOf(draft, 'a/b/"c"');
  expect(body).toBe(
    recorded.replace('"model":"gpt"', String.raw`"model":"a/b/\"c\""`).replace('"stream":false', '"stream":true'),
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
  for (const text of ["{", "[]", '{"messages":[]}', '{"model":"x"}', '{"stream":true}'])
    expect(withParameters(draft, text)).toHaveProperty("mistake");
  expect(withMember(draft, "seed", undefined).has("seed")).toBe(false);
});
