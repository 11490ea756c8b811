import ts from "typescript";
import { UnsupportedSpecError } from "../model/unsupported-spec-error.js";
import { at } from "../model/pointer.js";
import { docLines } from "./doc-lines.js";

/**
 * Turns the output of openapi-typescript into types with names: each schema is an exported type, and what refers to it
 * does so by its name, which editors and compiler errors then show. Comments become plain text with tags after it.
 *
 * The types are aliases, not interfaces: a value of an interface type cannot be assigned to `Record<string, unknown>`.
 */
export function nameSchemas(nodes: readonly ts.Node[], taken: readonly string[]): ts.Node[] {
  const aliases: ts.Node[] = [];
  const others = nodes.map(visit).map((node) => {
    if (!ts.isInterfaceDeclaration(node) || node.name.text !== "components") return node;
    const members = node.members.map((member) => {
      const type = typeOf(member);
      if (nameOf(member) !== "schemas" || type === undefined || !ts.isTypeLiteralNode(type)) return member;
      aliases.push(...type.members.map((schema) => aliasOf(schema, taken)));
      const names = type.members.map((schema) => property(nameOf(schema), reference(nameOf(schema))));
      return property("schemas", ts.factory.createTypeLiteralNode(names));
    });
    return ts.factory.createInterfaceDeclaration(node.modifiers, node.name, undefined, undefined, members);
  });
  return [...aliases, ...others];
}

function visit(node: ts.Node): ts.Node {
  const name = schemaName(node);
  if (name !== undefined) return reference(name);
  const visited = ts.visitEachChild(node, visit, undefined);
  const [comment] = ts.getSyntheticLeadingComments(visited) ?? [];
  return comment === undefined ? visited : ts.setSyntheticLeadingComments(visited, rewritten(comment));
}

function rewritten(comment: ts.SynthesizedComment): ts.SynthesizedComment[] {
  const lines = docLines(comment.text);
  if (lines.join("") === "") return [];
  const text =
    lines.length === 1 ? `* ${lines[0]} ` : `*\n${lines.map((line) => ` * ${line}`.trimEnd()).join("\n")}\n `;
  return [{ ...comment, text }];
}

function aliasOf(schema: ts.TypeElement, taken: readonly string[]): ts.Node {
  const name = nameOf(schema);
  const pointer = at("/components/schemas", name);
  if (!/^[A-Za-z_]\w*$/.test(name))
    throw new UnsupportedSpecError(pointer, "the name of a schema is that of a type: letters, digits and _");
  if (name in globalThis)
    throw new UnsupportedSpecError(pointer, "JavaScript has a global of this name; rename the schema");
  if (taken.includes(name)) throw new UnsupportedSpecError(pointer, "generated code uses this name; rename the schema");
  const exported = [ts.factory.createModifier(ts.SyntaxKind.ExportKeyword)];
  const alias = ts.factory.createTypeAliasDeclaration(exported, name, undefined, typeOf(schema)!);
  return ts.setSyntheticLeadingComments(alias, ts.getSyntheticLeadingComments(schema));
}

/** The name in `components["schemas"]["name"]`. */
function schemaName(node: ts.Node): string | undefined {
  if (!ts.isIndexedAccessTypeNode(node) || !ts.isIndexedAccessTypeNode(node.objectType)) return undefined;
  const { objectType: components, indexType: schemas } = node.objectType;
  const isComponents = ts.isTypeReferenceNode(components) && textOf(components.typeName) === "components";
  return isComponents && literalOf(schemas) === "schemas" ? literalOf(node.indexType) : undefined;
}

function literalOf(node: ts.TypeNode): string | undefined {
  return ts.isLiteralTypeNode(node) && ts.isStringLiteral(node.literal) ? node.literal.text : undefined;
}

function nameOf(member: ts.TypeElement): string {
  return member.name === undefined ? "" : textOf(member.name);
}

function textOf(node: ts.Node): string {
  return ts.isIdentifier(node) || ts.isStringLiteral(node) ? node.text : "";
}

function typeOf(member: ts.TypeElement): ts.TypeNode | undefined {
  return ts.isPropertySignature(member) ? member.type : undefined;
}

function property(name: string, type: ts.TypeNode): ts.TypeElement {
  return ts.factory.createPropertySignature(undefined, name, undefined, type);
}

function reference(name: string): ts.TypeReferenceNode {
  return ts.factory.createTypeReferenceNode(name);
}
