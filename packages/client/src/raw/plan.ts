/** Where a value has free JSON: it is free itself, or leads there. */
export interface RawPlan {
  readonly raw?: true;
  /** Indexes of the plans of members. */
  readonly properties?: Readonly<Record<string, number>>;
  /** Of all other members. */
  readonly others?: number;
  /** Of the items of a list. */
  readonly items?: number;
}

export interface RawPlans {
  readonly plans: readonly RawPlan[];
  /** The plan of the response, or of an item of its stream, by operationId. */
  readonly operations: Readonly<Record<string, number>>;
}
