# Loads fp32shim into all that login shells start. For /etc/profile.d/, any POSIX shell, also under `set -u`.
fp32shim_library=/usr/local/lib/libfp32shim.so
if [ -r "$fp32shim_library" ]; then  # else each program would complain
    case ":${LD_PRELOAD-}:" in
        *:"$fp32shim_library":*) ;;  # a shell in a shell
        *) export LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$fp32shim_library" ;;
    esac
fi
unset fp32shim_library
