import { createContext, use, useLayoutEffect, useRef, useSyncExternalStore } from "react";
import type { ActiveCommand, Commands } from "./command.js";
import { Keyboard } from "./keyboard.js";

const KeyboardContext = createContext(new Keyboard());

export const useKeyboard = (): Keyboard => use(KeyboardContext);

interface Options {
  /** What the sheet of keys puts the commands under. */
  scope: string;
  /** Hides the commands of what is below: for dialogs. */
  modal?: boolean;
}

/**
 * Makes commands work while the component is on the page. Each record needs a handler, so no key is shown that does nothing;
 * one that is undefined now is neither shown nor run.
 */
export function useCommands<Id extends string>(
  { scope, modal = false }: Options,
  commands: Commands<Id>,
  handlers: Record<Id, (() => void) | undefined>,
): void {
  const keyboard = useKeyboard();
  const latest = useRef(handlers);
  // Before it is painted: who sees it can press its keys.
  useLayoutEffect(() => {
    latest.current = handlers;
  });
  useLayoutEffect(
    () =>
      keyboard.open({
        name: scope,
        modal,
        commands: () =>
          (Object.keys(commands) as Id[]).flatMap((id): ActiveCommand[] => {
            const run = latest.current[id];
            return run === undefined ? [] : [{ ...commands[id], id, scope, run }];
          }),
      }),
    [keyboard, scope, modal, commands],
  );
}

/** The commands that can be run, for what lists them. */
export function useActiveCommands(): ActiveCommand[] {
  const keyboard = useKeyboard();
  useSyncExternalStore(keyboard.subscribe, keyboard.version);
  return keyboard.active();
}
