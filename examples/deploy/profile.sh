# Loads fp32shim into every program that a login shell starts. For /etc/profile.d/, any POSIX shell, also under `set -u`.
for fp32shim_library in /usr/local/lib/libfp32shim.so "/usr/lib/$(uname -m)-linux-gnu/fp32shim/libfp32shim.so"; do
    [ -r "$fp32shim_library" ] || continue  # without the library, each program would complain
    case ":${LD_PRELOAD-}:" in
        *:"$fp32shim_library":*) ;;  # already set, as in a shell that another shell started
        *) export LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$fp32shim_library" ;;
    esac
    break
done
unset fp32shim_library
