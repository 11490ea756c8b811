import type { ControlPlane } from "@heddle/control-plane";

/** Names of users by id, each looked up once per response. */
export class UserNames {
  readonly #control: ControlPlane;
  readonly #known = new Map<string, Promise<string | undefined>>();

  constructor(control: ControlPlane) {
    this.#control = control;
  }

  /** The user's name, or undefined for null and for a user that does not exist. */
  async of(userId: string | null): Promise<string | undefined> {
    if (userId === null) return undefined;
    let name = this.#known.get(userId);
    if (name === undefined) {
      name = this.#control.users.get(userId).then((user) => user?.name);
      this.#known.set(userId, name);
    }
    return name;
  }
}
