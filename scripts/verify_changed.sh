#!/usr/bin/env bash
# Verify the submissions that differ between BASE and the checkout in HEAD, and write the comment for the pull request.
# usage: verify_changed.sh HEAD-CHECKOUT BASE-COMMIT BOARDS-FOLDER COMMENT-FILE
# Exit status 0: all verified; 1: one is refused or could not be judged. Names are read with NUL between them: they may hold anything else.
set -euo pipefail
head=$1 base=$2 boards=$3 comment=$4
status=0
: > "$comment"
declare -A seen=()
while IFS= read -r -d '' file; do
    [[ $file =~ ^leaderboards/[a-z0-9-]+/submissions/[^/]+/ ]] || continue
    folder=${BASH_REMATCH[0]%/}
    [[ -n ${seen[$folder]:-} || ! -d $head/$folder ]] && continue
    seen[$folder]=1
    sopbench verify "$head/$folder" --boards "$boards" --comment >> "$comment" || status=1
    printf '\n---\n\n' >> "$comment"
done < <(git -C "$head" diff --name-only -z "$base" HEAD -- leaderboards)
[[ -s $comment ]] || echo "No submission was added or changed." > "$comment"
exit $status
