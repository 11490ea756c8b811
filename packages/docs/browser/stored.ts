// Reading and writing throw where the browser keeps no data, as with pages opened from a file.

export function readStored(name: string): string | undefined {
  try {
    return localStorage.getItem(`heddle-docs-${name}`) ?? undefined;
  } catch {
    return undefined;
  }
}

export function writeStored(name: string, value: string): void {
  try {
    localStorage.setItem(`heddle-docs-${name}`, value);
  } catch {
    // The choice lasts as long as the page.
  }
}

/** What is kept until the tab is closed. */
export function keptForTab(name: string): string | undefined {
  try {
    return sessionStorage.getItem(`heddle-docs-${name}`) ?? undefined;
  } catch {
    return undefined;
  }
}

export function keepForTab(name: string, value: string | undefined): void {
  try {
    if (value === undefined) sessionStorage.removeItem(`heddle-docs-${name}`);
    else sessionStorage.setItem(`heddle-docs-${name}`, value);
  } catch {
    // It lasts as long as the page.
  }
}
