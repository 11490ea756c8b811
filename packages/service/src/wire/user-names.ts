import type { ControlPlane } from "@heddle/control-plane";

/** Names of users by id, each looked up once per answer. */
export class UserNames {
  readonly #control: ControlPlane;
  readonly #known = new Map<string, Promise<string | undefined>>();

  constructor(control: ControlPlane) {
    this.#control = control;
  }

  /** The user's name, or undefined for nobody and for a user that is gone. */
  async of(user_id: string | null): Promise<string | undefined> {
    if (user_id === null) return undefined;
    let name = this.#known.get(user_id);
    if (name === undefined) {
      name = this.#control.users.get(user_id).then((user) => user?.name);
      this.#known.set(user_id, name);
    }
    return name;
  }
}
