import type { ControlPlane } from "@heddle/control-plane";

/** Makes a code by which the owner can log in once within ten minutes. */
export async function ownerLogInCode({ keys, sessions }: ControlPlane, apiKey: string): Promise<string> {
  const owner = await keys.verify(apiKey);
  if (owner === undefined) throw new Error("the owner key is not valid");
  return (await sessions.createCode(owner)).code;
}

/** The page of the console that uses a code. It is in the fragment, which browsers send to nobody. */
export function logInLink(url: string, code: string): string {
  return `${url}/console/login#${code}`;
}
