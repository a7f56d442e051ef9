#compdef aops-hook
_aops-hook() {
    local -a found
    if (( $+commands[aops-hook] )) || [[ -x ${words[1]} ]]; then
        found=("${(@f)$(${words[1]} __complete "${(@)words[2,CURRENT]}" 2> /dev/null)}")
        found=("${(@)found:#}")
        found=("${(@)${(@)found//:/\\:}/$'\t'/:}")
    elif (( CURRENT == 2 )); then
        found=({commands})
    fi
    if (( $#found )); then
        _describe -V 'aops-hook' found
    else
        _files
    fi
}
if [[ ${funcstack[1]} = _aops-hook ]]; then
    _aops-hook "$@"
else
    compdef _aops-hook aops-hook
fi
