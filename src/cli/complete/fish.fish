function __aops_hook_complete
    set -l words (commandline -opc) (commandline -ct)
    if command -q $words[1]
        $words[1] __complete $words[2..] 2>/dev/null
    else if test (count $words) -le 2
        printf '%s\n' {commands} | string split ' '
    end
end
complete -c aops-hook -f -a '(__aops_hook_complete)'
for option in output queue to context
    complete -c aops-hook -l $option -r -F
end
