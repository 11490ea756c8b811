import { afterAll, describe, expect, test } from "vitest";
import { openChatModel } from "../test/chat-model.js";
import type { ChatTemplateOptions } from "./template.js";

const conversation = [{ role: "user", content: "hello" }];

async function render(
  template: string,
  { messages = conversation }: { messages?: unknown },
  options?: ChatTemplateOptions,
): Promise<string> {
  return (await openChatModel(template, undefined, options)).renderText({ messages });
}

describe("templates over the limits are stopped, and the next one is rendered", () => {
  afterAll(async () => {
    expect(await render("{{ messages | length }}", {}, {})).toBe("1");
  });

  test.each([
    ["says no", "{{ raise_exception('roles must alternate') }}", /chat template: roles must alternate/],
    ["is not closed", "{% for a in messages %}", /chat template: /],
    [
      "wants a huge range",
      "{% for i in range(1000000000) %}{% endfor %}",
      /range\(\) of 1000000000 numbers; at most 10000/,
    ],
    ["loops in loops", "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", /steps of work/],
    ["calls itself", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", /nested too deeply/],
    [
      "doubles text",
      "{% set n = namespace(t='x') %}{% for i in range(60) %}{% set n.t = n.t ~ n.t %}{% endfor %}",
      /text of more/,
    ],
    [
      "writes 1 GB",
      "{% set t = 'x' | replace('x', messages[0].content) %}{% for a in range(10000) %}{% for b in range(10) %}{{ t }}{% endfor %}{% endfor %}",
      /text/,
    ],
    ["replaces everything", "{% set t = messages[0].content %}{{ t.replace('', t).replace('', t) }}", /text of more/],
    [
      "replaces by a filter",
      "{% set t = messages[0].content %}{{ t | replace('x', t) | replace('x', t) }}",
      /text of more/,
    ],
    ["joins", "{{ range(10000) | join(messages[0].content) }}", /text of more/],
    ["indents", "{{ 'a\nb' | indent(1000000000) }}", /text of more/],
    ["indents JSON", "{{ messages | tojson(indent=100000000) }}", /text of more/],
    ["splits", "{{ messages[0].content.split('x') | length }}", /lists of more/],
    [
      "lists of lists",
      "{% set n = namespace(l=['a','b']) %}{% for i in range(60) %}{% set n.l = [n.l, n.l] %}{% endfor %}{{ n.l | tojson }}",
      /steps of work/,
    ],
    ["holds itself", "{% set n = namespace() %}{% set n.n = n %}{{ n }}", /nested/],
    [
      "replaces with a stored method",
      "{% set f = messages[0].content.replace %}{{ f('x', messages[0].content) }}",
      /text of more/,
    ],
    ["pads", "{{ 'x'.center(1000000000) }}", /text of more/],
    ["pads a number", "{{ '%999999999d' | format(1) }}", /text of more/],
    ["pads with a format", "{{ '{:>999999999}'.format(1) }}", /text of more/],
    ["repeats", "{{ messages[0].content * 1000000 }}", /text of more/],
    ["repeats a list", "{{ ([1] * 1000000000) | length }}", /lists of more/],
    ["makes a large number", "{{ 9 ** 9 ** 9 ** 9 ** 9 }}", /integers of more/],
    [
      "makes a large number in steps",
      "{% set n = namespace(v=2**4000) %}{% for i in range(99) %}{% set n.v = n.v * n.v %}{% endfor %}",
      /integers of more/,
    ],
    ["nests brackets", `{{ ${"[".repeat(50_000)}${"]".repeat(50_000)} }}`, /nested too deeply/],
    [
      "compares lists of lists",
      "{% set n = namespace(l=[1], m=[1]) %}{% for i in range(60) %}{% set n.l = [n.l, n.l] %}{% set n.m = [n.m, n.m] %}{% endfor %}{{ n.l == n.m }}",
      /steps of work/,
    ],
  ])("one that %s", async (_, template, reason) => {
    const messages = [{ role: "user", content: "x".repeat(300_000) }];
    const failure = { name: "HeddleError", code: "invalid", message: expect.stringMatching(reason) };
    const limits = { steps: 200_000 };
    await expect(render(template, { messages }, { limits, timeMs: 60_000 })).rejects.toMatchObject(failure);
    await expect(render(template, { messages }, { limits, trusted: true })).rejects.toMatchObject(failure);
  });

  test("one that takes too long", async () => {
    const slow = `${"{{ [1] | tojson }}".repeat(10)}{% for a in range(9999) %}{% for b in range(9999) %}{{ a }}{% endfor %}{% endfor %}`;
    const limits = { steps: Number.POSITIVE_INFINITY };
    await expect(render(slow, {}, { timeMs: 50, limits })).rejects.toMatchObject({
      code: "invalid",
      message: "chat template: template took longer than 0.05 s",
    });
  });

  test("queued ones are rendered", async () => {
    const endless = "{% for a in range(9999) %}{% for b in range(9999) %}{{ a }}{% endfor %}{% endfor %}";
    const model = await openChatModel(endless, undefined, {
      timeMs: 1500,
      limits: { steps: Number.POSITIVE_INFINITY },
    });
    const requests = [{}, { template: "one" }, { template: "two" }].map((more) =>
      model.renderText({ messages: conversation, ...more }),
    );
    const results = await Promise.allSettled(requests);
    const texts = results.map((result) => (result.status === "fulfilled" ? result.value : "ended"));
    expect(texts).toEqual(["ended", "one", "two"]);
  });

  test("one that fills the memory of its thread", async () => {
    const greedy =
      "{% set n = namespace(l=[]) %}{% for i in range(9999) %}{% set n.l = n.l + [messages[0].content | upper] %}{% endfor %}";
    const most = Number.POSITIVE_INFINITY;
    const limits = { items: most, characters: most, steps: most };
    const messages = [{ role: "user", content: "x".repeat(1_000_000) }];
    await expect(render(greedy, { messages }, { timeMs: 60_000, limits })).rejects.toThrow("of memory");
  });

  test.each([
    [
      "white space inside of text",
      "{{ (messages[0].content | trim | length, messages[0].content.rstrip()) | length }}",
    ],
    ["white space inside of a template", `a${" ".repeat(200_000)}b{%- set a = 1 %}`],
    ["a long sum", `{{ 0${" + 1".repeat(60_000)} }}`],
    ["many filters", `{{ 0${" | abs".repeat(40_000)} }}`],
  ])("a template with %s does not block", async (_, template) => {
    const messages = [{ role: "user", content: `a${" ".repeat(1_000_000)}b` }];
    const text = await render(template, { messages }, { trusted: true }).catch((error: unknown) => String(error));
    expect(text).toMatch(/^2$|^a {200000}b$|^a {200000}b|nested too deeply/);
  });

  test.each([
    "{{ messages.constructor }}",
    "{{ messages['constructor'] }}",
    "{{ messages[0].__proto__ }}",
    "{{ ''.constructor.constructor('return process')() }}",
    "{{ range.constructor }}{{ range.prototype }}",
    "{{ namespace().constructor }}",
    "{{ messages[0].toString }}{{ messages[0].hasOwnProperty }}",
    "{{ process }}{{ globalThis }}{{ require }}",
  ])("exposes nothing through %s", async (template) => {
    const text = await render(template, {}).catch((error: unknown) => String(error));
    expect(text).toMatch(/^$|is undefined$/);
  });
});
