/** What a reader can do by keyboard. Handlers, the sheet of keys and the palette are made of these records. */
interface Command {
  /** What it does, as the palette shows it. */
  readonly title: string;
  /**
   * Each does it: `j`, `Shift+X`, `Ctrl+k`, `Enter`, or one after another, `g h`. Letters are the characters that are
   * written, so that they are where each keyboard has them. `Ctrl` is ⌘, too.
   */
  readonly keys: readonly string[];
}

export type Commands<Id extends string = string> = Readonly<Record<Id, Command>>;

/** A command that can be run now. */
export interface ActiveCommand extends Command {
  readonly id: string;
  /** What the sheet of keys puts it under. */
  readonly scope: string;
  readonly run: () => void;
}

/** The parts of a key as they are shown: `g h` → `g`, `h`. */
export const partsOf = (keys: string): string[] => keys.split(" ");

interface KeyPress {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly shiftKey: boolean;
}

/** The name of a key press as commands have it. Shift is named where the character does not say it: `Shift+ArrowDown`. */
export function nameOf({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyPress): string {
  const name = key === " " ? "Space" : key;
  const isCharacter = key.length === 1 && key !== " ";
  // AltGr writes characters, and comes as Ctrl and Alt on some systems.
  const isWritten = isCharacter && altKey;
  const modifiers = [
    ...((ctrlKey || metaKey) && !isWritten ? ["Ctrl"] : []),
    ...(altKey && !isWritten ? ["Alt"] : []),
    ...(shiftKey && !isCharacter ? ["Shift"] : []),
  ];
  return [...modifiers, name].join("+");
}

/** Whether a key writes something where text is edited. */
export const isWriting = (name: string): boolean => !/^(?:Ctrl|Alt)\+|^(?:Escape|F\d+)$/.test(name);

/** Whether a key is a single character without Ctrl, which somebody may have turned off. */
export const isSingleCharacter = (name: string): boolean => Array.from(name).length === 1;
