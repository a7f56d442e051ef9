_aops__hook() {
    local line
    COMPREPLY=()
    if command -v "${COMP_WORDS[0]}" > /dev/null; then
        while IFS=$'\t' read -r line _; do
            COMPREPLY+=("$(printf %q "$line")")
        done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
    elif [ "$COMP_CWORD" = 1 ]; then
        COMPREPLY=($(compgen -W "{commands}" -- "${COMP_WORDS[1]}"))
    fi
}
complete -o default -F _aops__hook aops-hook
