import { isJsonObject } from "@heddle/exact-json";
import type { Loc } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";

type TagObject = Record<string, unknown>;

/** Compiles the constrained parts of a structural tag to grammars. `loc` is the location of the part. */
export interface TagCompilers {
  jsonSchema(schema: unknown, loc: Loc): string;
  regex(pattern: string, loc: Loc): string;
  grammar(grammar: string, loc: Loc): string;
}

const maxDepth = 16;
const maxNodes = 1_000;

/**
 * Validates a structural tag in the current form (`format`) or the older one (`structures` and `triggers`). Returns the
 * form that xgrammar reads, with every schema and pattern translated to a grammar. Throws `invalid` with the location.
 */
export function structuralTagSource(tag: unknown, compilers: TagCompilers): string {
  if (!isJsonObject(tag)) throw invalid(["tag"], "a structural tag is an object");
  if ("type" in tag && tag.type !== "structural_tag")
    throw invalid(["tag", "type"], 'the type must be "structural_tag"');
  const isLegacy = "structures" in tag || "triggers" in tag;
  if (isLegacy === "format" in tag) throw invalid(["tag"], "either format, or structures and triggers are needed");
  let nodes = 0;
  const format = isLegacy ? node(fromLegacy(tag), ["tag"], 0) : node(tag.format, ["tag", "format"], 0);
  return JSON.stringify({ type: "structural_tag", format });

  function node(value: unknown, loc: Loc, depth: number): TagObject {
    if (!isJsonObject(value)) throw invalid(loc, "a format is an object");
    if (depth > maxDepth || ++nodes > maxNodes) throw invalid(loc, "the structural tag is too large");
    switch (value.type) {
      case "any_text":
        allowOnly(value, [], loc);
        return { type: "any_text" };
      case "const_string":
        allowOnly(value, ["value"], loc);
        return { type: "const_string", value: text(value, "value", loc) };
      case "json_schema":
        allowOnly(value, ["json_schema"], loc);
        return { type: "grammar", grammar: compilers.jsonSchema(value.json_schema, [...loc, "json_schema"]) };
      case "regex":
        allowOnly(value, ["pattern"], loc);
        return { type: "grammar", grammar: compilers.regex(text(value, "pattern", loc), [...loc, "pattern"]) };
      case "grammar":
        allowOnly(value, ["grammar"], loc);
        return { type: "grammar", grammar: compilers.grammar(text(value, "grammar", loc), [...loc, "grammar"]) };
      case "sequence":
      case "or":
        allowOnly(value, ["elements"], loc);
        return { type: value.type, elements: childNodes(value, "elements", loc, depth) };
      case "tag":
        return tagNode(value, loc, depth);
      case "triggered_tags":
        return triggeredTags(value, loc, depth);
      case "tags_with_separator":
        allowOnly(value, ["tags", "separator", "at_least_one", "stop_after_first"], loc);
        return {
          type: value.type,
          tags: tagList(value, loc, depth),
          separator: text(value, "separator", loc),
          ...flags(value, loc),
        };
      default:
        throw invalid([...loc, "type"], `the format ${JSON.stringify(value.type)} is not supported`);
    }
  }

  function childNodes(value: TagObject, key: string, loc: Loc, depth: number): TagObject[] {
    return list(value, key, loc).map((element, index) => node(element, [...loc, key, index], depth + 1));
  }

  function tagNode(value: TagObject, loc: Loc, depth: number): TagObject {
    allowOnly(value, ["begin", "content", "end"], loc);
    const content = node(value.content, [...loc, "content"], depth + 1);
    return { type: "tag", begin: text(value, "begin", loc, true), content, end: text(value, "end", loc, true) };
  }

  function tagList(value: TagObject, loc: Loc, depth: number): TagObject[] {
    return list(value, "tags", loc).map((tag, index) => {
      const at = [...loc, "tags", index];
      if (!isJsonObject(tag) || ("type" in tag && tag.type !== "tag")) throw invalid(at, "only tags are allowed here");
      return tagNode(tag, at, depth + 1);
    });
  }

  function triggeredTags(value: TagObject, loc: Loc, depth: number): TagObject {
    allowOnly(value, ["triggers", "tags", "at_least_one", "stop_after_first"], loc);
    const triggers = list(value, "triggers", loc).map((trigger, index) => {
      if (typeof trigger === "string" && trigger !== "") return trigger;
      throw invalid([...loc, "triggers", index], "a trigger is text that is not empty");
    });
    const tags = tagList(value, loc, depth);
    for (const [index, trigger] of triggers.entries()) {
      const extended = triggers.find((other, at) => at !== index && other.startsWith(trigger));
      if (extended !== undefined)
        throw invalid([...loc, "triggers", index], "a trigger must not be the beginning of another one");
    }
    for (const [index, { begin }] of tags.entries()) {
      const fits = triggers.some((trigger) => typeof begin === "string" && begin.startsWith(trigger));
      if (!fits) throw invalid([...loc, "tags", index, "begin"], "it must start with one of the triggers");
    }
    return { type: "triggered_tags", triggers, tags, ...flags(value, loc) };
  }
}

/** `structures: [{ begin, schema, end }]` with `triggers`: JSON between tags, free text outside them. */
function fromLegacy(tag: TagObject): TagObject {
  allowOnly(tag, ["structures", "triggers"], ["tag"]);
  const tags = list(tag, "structures", ["tag"]).map((structure, index) => {
    const loc = ["tag", "structures", index];
    if (!isJsonObject(structure)) throw invalid(loc, "a structure is an object");
    allowOnly(structure, ["begin", "schema", "end"], loc);
    const content = { type: "json_schema", json_schema: structure.schema };
    return { type: "tag", begin: structure.begin, content, end: structure.end };
  });
  return { type: "triggered_tags", triggers: tag.triggers, tags };
}

function flags(value: TagObject, loc: Loc): TagObject {
  const given = ["at_least_one", "stop_after_first"].filter((key) => key in value);
  const invalidFlag = given.find((key) => typeof value[key] !== "boolean");
  if (invalidFlag) throw invalid([...loc, invalidFlag], "it must be true or false");
  return Object.fromEntries(given.map((key) => [key, value[key]]));
}

function allowOnly(value: TagObject, keys: string[], loc: Loc): void {
  const other = Object.keys(value).find((key) => key !== "type" && !keys.includes(key));
  if (other !== undefined) throw invalid([...loc, other], "it is not a supported field");
}

function text(value: TagObject, key: string, loc: Loc, mayBeEmpty = false): string {
  const found = value[key];
  if (typeof found === "string" && (mayBeEmpty || found !== "")) return found;
  throw invalid([...loc, key], mayBeEmpty ? "it must be text" : "it must be text that is not empty");
}

function list(value: TagObject, key: string, loc: Loc): unknown[] {
  const found = value[key];
  if (Array.isArray(found) && found.length > 0) return found;
  throw invalid([...loc, key], "it must be a list that is not empty");
}

function invalid(loc: Loc, reason: string): HeddleError {
  return new HeddleError("invalid", `The structural tag cannot be used: ${reason} (at ${loc.join(".")}).`, { loc });
}
