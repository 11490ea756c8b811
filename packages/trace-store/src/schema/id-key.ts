/**
 * SQL of the key under which `call_ids` has an id: 64 bits that ids of about the same time share the beginning of, if they
 * carry one (UUIDv7), so that new ids are neighbours; else a hash. Several ids may have the same key.
 */
export function idKey(id: string): string {
  const time = `substring(${id}, 1, 8), substring(${id}, 10, 4), substring(${id}, 15, 4)`;
  const carriesTime = `length(${id}) = 36 AND substring(${id}, 15, 1) = '7'`;
  return `if(${carriesTime}, reinterpretAsUInt64(reverse(unhex(concat(${time})))), cityHash64(${id}))`;
}
