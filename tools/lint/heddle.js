import { existsSync } from "node:fs";
import { basename } from "node:path";
import { analyse } from "scslre";
import { noFolderCircle } from "./folder-circles.js";

/** `calls.ts` next to the folder `calls/`: one name for two locations. */
const noFileBesideFolder = {
  create: (context) => ({
    Program(node) {
      const folder = context.filename.replace(/\.[cm]?[jt]sx?$/, "");
      if (existsSync(folder)) context.report({ node, message: `Move this file into the folder ${basename(folder)}/.` });
    },
  }),
};

/** The keywords `private` and `protected` hide a member from the compiler only, `#name` hides it at run time. */
const noPrivateKeyword = {
  create(context) {
    const check = (node) => {
      if (node.accessibility !== "private" && node.accessibility !== "protected") return;
      context.report({ node: node.key ?? node, message: `Write #name instead of the keyword ${node.accessibility}.` });
    };
    return { MethodDefinition: check, PropertyDefinition: check, TSParameterProperty: check };
  },
};

const noUpperCaseNames = namesRule(/^[A-Z][A-Z0-9_]+$/);
const noSnakeCaseNames = namesRule(/[a-zA-Z0-9]_+[a-z0-9]/);

/**
 * Refuses names of variables, parameters and functions. A property that is destructured under its own name is not one
 * of these, so that wire fields and columns keep theirs.
 */
function namesRule(refused) {
  const create = (context) => {
    const check = (node) => {
      if (node?.type !== "Identifier" || !refused.test(node.name)) return;
      context.report({ node, message: `Write the name ${node.name} in camelCase.` });
    };
    const checkPattern = (node) => {
      if (node?.type === "AssignmentPattern") checkPattern(node.left);
      else if (node?.type === "RestElement") checkPattern(node.argument);
      else if (node?.type === "ArrayPattern") node.elements.forEach(checkPattern);
      else if (node?.type === "ObjectPattern") {
        for (const part of node.properties) if (!part.shorthand) checkPattern(part.value ?? part.argument);
      } else check(node);
    };
    const checkFunction = ({ id, params }) => [id, ...params].forEach(checkPattern);
    return {
      VariableDeclarator: ({ id }) => checkPattern(id),
      FunctionDeclaration: checkFunction,
      FunctionExpression: checkFunction,
      ArrowFunctionExpression: checkFunction,
    };
  };
  return { create };
}

/**
 * A regular expression that can take time of a higher degree than the text is long: "1".repeat(200_000) takes seconds.
 * Anchor it, make neighbouring repetitions begin differently, or search in code.
 */
const noSuperLinearRegExp = {
  create(context) {
    const check = (node, source, flags) => {
      const [report] = reportsOf(source, flags);
      if (report === undefined) return;
      const part = report.parentQuant ?? report.quant ?? report.startQuant;
      const time = report.exponential ? "exponential" : "quadratic";
      const example = JSON.stringify(report.character.pick);
      const message = `${part.raw} in /${source}/ can take ${time} time for a text that repeats ${example}.`;
      context.report({ node, message });
    };
    const checkConstructor = ({ callee, arguments: [source, flags] }) => {
      if (callee.name !== "RegExp" || typeof source?.value !== "string") return;
      check(source, source.value, typeof flags?.value === "string" ? flags.value : "");
    };
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          if (/^\s*oxlint-disable[^]*no-super-linear-reg-exp\s*$/.test(comment.value)) {
            context.report({ node: comment, message: "Write after -- why the text cannot be that of a user." });
          }
        }
      },
      Literal: (node) => node.regex && check(node, node.regex.pattern, node.regex.flags),
      NewExpression: checkConstructor,
      CallExpression: checkConstructor,
    };
  },
};

/** Nothing for what is no regular expression: the compiler says so. */
function reportsOf(source, flags) {
  try {
    return analyse({ source, flags }, { maxReports: 1 }).reports;
  } catch {
    return [];
  }
}

const fileFunctions = new Set(["lstat", "opendir", "readFile", "readdir", "readlink", "realpath", "stat"]);

/** `stat(path).catch(() => undefined)`, `existsSync(path)`: what is without permission, or on a broken disk, is taken for missing. */
const noSwallowedFileErrors = {
  create: (context) => ({
    CallExpression(node) {
      const {
        callee,
        arguments: [handler],
      } = node;
      if (callee.name === "existsSync" && /^(?!.*\/tools\/).*\/src\/(?!.*\.test\.)/.test(context.filename)) {
        context.report({
          node,
          message: "Write pathExists(…) of @heddle/durable-files: only a missing file is no error.",
        });
        return;
      }
      if (callee.property?.name !== "catch" || handler?.type !== "ArrowFunctionExpression" || handler.params.length > 0)
        return;
      const name = callee.object.callee?.name;
      if (!fileFunctions.has(name)) return;
      context.report({
        node,
        message: `Write ifExists(${name}(…)) of @heddle/durable-files: only a missing file is no error.`,
      });
    },
  }),
};

export default {
  meta: { name: "heddle" },
  rules: {
    "no-file-beside-folder": noFileBesideFolder,
    "no-folder-circle": noFolderCircle,
    "no-private-keyword": noPrivateKeyword,
    "no-upper-case-names": noUpperCaseNames,
    "no-snake-case-names": noSnakeCaseNames,
    "no-super-linear-reg-exp": noSuperLinearRegExp,
    "no-swallowed-file-errors": noSwallowedFileErrors,
  },
};
