/** The value of an object as the Weave SDKs store instances of their classes. */
export const weaveObject = (name: string, members: object) => ({
  _type: name,
  _class_name: name,
  _bases: ["Object", "BaseModel"],
  ...members,
});
