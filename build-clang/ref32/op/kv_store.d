build-clang/ref32/op/kv_store.o: ref/op/kv_store.c ref/op/kv.h \
  ref/base/case/args.h ref/base/format/matrix.h ref/base/num/dtype.h \
  ref/base/num/real.h ref/base/num/convert.h ref/op/op.h \
  ref/base/case/op.h

ref/op/kv.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

ref/base/num/convert.h:

ref/op/op.h:

ref/base/case/op.h:
