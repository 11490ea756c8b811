import { join } from "node:path";
import ts from "typescript";

/** What an editor shows of a program. */
export interface Editor {
  /** Each compiler error as its lines: the error, then the reasons that TypeScript finds below it, indented. */
  errorsOf(program: string): string[];
  /** Type and documentation of the name after the mark `/*?*\/`. */
  hover(program: string): string;
}

/** An editor of programs in a directory, whose packages they import. Types are resolved from source. */
export function openEditor(directory: string): Editor {
  const file = join(directory, "program.ts");
  let text = "";
  let version = 0;
  const service = ts.createLanguageService({
    getCompilationSettings: () => compilerOptions,
    getScriptFileNames: () => [file],
    getScriptVersion: (name) => (name === file ? String(version) : "0"),
    getScriptSnapshot: (name) => {
      const content = name === file ? text : ts.sys.readFile(name);
      return content === undefined ? undefined : ts.ScriptSnapshot.fromString(content);
    },
    getCurrentDirectory: () => directory,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (name) => name === file || ts.sys.fileExists(name),
    readFile: (name) => (name === file ? text : ts.sys.readFile(name)),
    directoryExists: (name) => ts.sys.directoryExists(name),
    getDirectories: (name) => ts.sys.getDirectories(name),
    realpath: (name) => ts.sys.realpath?.(name) ?? name,
  });
  const open = (program: string) => {
    text = program;
    version += 1;
  };
  return {
    errorsOf(program) {
      open(program);
      const errors = [...service.getSyntacticDiagnostics(file), ...service.getSemanticDiagnostics(file)];
      return errors.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
    },
    hover(program) {
      open(program);
      const mark = program.indexOf(hoverMark);
      if (mark < 0) throw new TypeError(`the program has no ${hoverMark}`);
      const info = service.getQuickInfoAtPosition(file, mark + hoverMark.length);
      const type = ts.displayPartsToString(info?.displayParts);
      const tags = (info?.tags ?? []).map(({ name, text: parts }) => `@${name} ${ts.displayPartsToString(parts)}`);
      return [type, ts.displayPartsToString(info?.documentation), ...tags].join("\n");
    },
  };
}

const hoverMark = "/*?*/";

const compilerOptions: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.asynciterable.d.ts"],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  customConditions: ["@heddle/source"],
  types: [],
  strict: true,
  noEmit: true,
  skipLibCheck: true,
};
