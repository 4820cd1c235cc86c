build-clang/ref32/op/gdn_chunk64.o: ref/op/gdn_chunk64.c ref/op/lanes.h \
  ref/base/num/real.h ref/op/op.h ref/base/case/args.h \
  ref/base/format/matrix.h ref/base/num/dtype.h ref/base/case/op.h

ref/op/lanes.h:

ref/base/num/real.h:

ref/op/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/case/op.h:
